use serde_json::json;

use super::*;
use crate::failure::FailureKind;

fn model(api: TaskApi, compat: Value) -> TaskModel {
    TaskModel {
        id: "judge".to_owned(),
        name: String::new(),
        provider: "desk".to_owned(),
        api,
        base_url: "http://desk/v1/".to_owned(),
        input: vec![Input::Text, Input::Image],
        cost: Prices {
            input: 1.0,
            output: 2.0,
            ..Prices::default()
        },
        headers: BTreeMap::new(),
        compat,
    }
}

fn asked(images: usize) -> Classification {
    let questions = json!({
        "kind": {"type": "choice", "instructions": "What is it?", "criteria": {"bug": "It fails", "idea": ""}},
        "size": {"type": "score", "instructions": "How large?", "criteria": ["small", "medium", "large"]},
        "done": {"type": "bool", "instructions": "Done?", "criteria": {"true": "closed", "false": "open"}},
    });
    let picture = Picture {
        data: "AAAA".to_owned(),
        mime_type: "image/png".to_owned(),
    };
    Classification {
        state: json!({"title": "It crashes"}).as_object().unwrap().clone(),
        images: vec![picture; images],
        questions: Questions::parse(questions.as_object().unwrap()).unwrap(),
    }
}

#[test]
fn questions_that_are_none_say_which_member_must_be_what() {
    let cases = [
        (
            json!({}),
            "questions must hold 1 to 64 questions by their ids",
        ),
        (json!({"a": 1}), "questions.a: instructions must be a text"),
        (
            json!({"a": {"instructions": "?", "type": "maybe"}}),
            "questions.a: type must be \"choice\", \"score\" or \"bool\"",
        ),
        (
            json!({"a": {"instructions": "?", "type": "choice", "criteria": {"x": "only one"}}}),
            "questions.a: criteria must hold 2 to 62 labels with their meanings",
        ),
        (
            json!({"a": {"instructions": "?", "type": "choice", "criteria": {"x": 1, "y": "b"}}}),
            "questions.a: criteria.x must be a text",
        ),
        (
            json!({"a": {"instructions": "?", "type": "score", "criteria": {"x": "1"}}}),
            "questions.a: criteria must be a list of 2 to 10 texts, the lowest level first",
        ),
        (
            json!({"a": {"instructions": "?", "type": "bool", "criteria": {"true": "x"}}}),
            "questions.a: criteria.false must be a text",
        ),
    ];
    for (questions, expected) in cases {
        let error = Questions::parse(questions.as_object().unwrap()).unwrap_err();
        assert_eq!(error, expected);
    }
}

#[test]
fn system_one_is_asked_and_read() {
    let plain = model(TaskApi::SystemOne, Value::Null);
    let request = system_one::request(&plain, &asked(0)).unwrap();
    assert_eq!(request.url, "http://desk/v1/systemone");
    assert!(request.headers.is_empty());
    assert_eq!(request.body["model"], "judge");
    assert_eq!(request.body["state"], json!({"title": "It crashes"}));
    assert_eq!(request.body["questions"]["done"]["type"], "noul");
    let reply = json!({"answers": {
        "kind": {"type": "choice", "choice": "bug", "probabilities": {"bug": 0.9, "idea": 0.1}, "confidence": 0.8},
        "size": {"type": "score", "score": 1.5, "confidence": 0.5},
        "done": {"type": "noul", "noul": 0.25},
    }});
    let expected = json!({
        "kind": {"choice": "bug", "probabilities": {"bug": 0.9, "idea": 0.1}, "confidence": 0.8},
        "size": {"score": 1.5, "confidence": 0.5},
        "done": {"probability": 0.25},
    });
    assert_eq!(system_one::answers(&asked(0), &reply).unwrap(), expected);

    let cloudflare = model(TaskApi::CloudflareSystemOne, Value::Null);
    let request = system_one::cloudflare_request(&cloudflare, &asked(0)).unwrap();
    assert_eq!(request.url, "http://desk/v1/run");
    assert_eq!(request.body["input"]["questions"]["done"]["type"], "noul");
    for envelope in [
        json!({"success": true, "result": reply}),
        json!({"success": true, "result": {"state": "Completed", "result": reply}}),
    ] {
        assert_eq!(
            system_one::cloudflare_answers(&asked(0), &envelope).unwrap(),
            expected
        );
    }
    let failed = json!({"success": false, "errors": [{"message": "too busy", "code": 3040}]});
    let failure = system_one::cloudflare_answers(&asked(0), &failed).unwrap_err();
    assert_eq!(failure.message, "too busy");
}

#[test]
fn system_one_is_shown_images_as_its_host_wants_them() {
    let of =
        |compat: Value| system_one::request(&model(TaskApi::SystemOne, compat), &asked(2)).unwrap();
    let assets = of(Value::Null);
    assert_eq!(
        assets.body["state"],
        json!(["<image-1>", "<image-2>", {"title": "It crashes"}])
    );
    assert_eq!(assets.body["assets"]["<image-2>"]["format"], "png");
    assert_eq!(
        assets.headers,
        [("TypeSafe-Danger-Zone-Images".to_owned(), "true".to_owned())]
    );
    let urls = of(json!({"imageInput": "state-image-urls", "sendImageOptInHeader": false}));
    assert_eq!(
        urls.body["state"][0]["image_url"]["url"],
        "data:image/png;base64,AAAA"
    );
    assert!(urls.headers.is_empty());
    let images = of(json!({"imageInput": "images"}));
    assert_eq!(
        images.body["images"],
        json!(["data:image/png;base64,AAAA", "data:image/png;base64,AAAA"])
    );
    let many = model(TaskApi::SystemOne, json!({"imageInput": "images"}));
    assert_eq!(
        system_one::request(&many, &asked(5)).unwrap_err().message,
        "judge takes 4 images at most"
    );
    let unknown = model(TaskApi::SystemOne, json!({"imageInput": "fax"}));
    assert!(
        system_one::request(&unknown, &asked(1))
            .unwrap_err()
            .message
            .contains("\"fax\"")
    );
}

#[test]
fn decisions_are_asked_and_read() {
    let model = model(TaskApi::OpenAiDecisions, Value::Null);
    let request = decisions::request(&model, &asked(0)).unwrap();
    assert_eq!(request.url, "http://desk/v1/decisions");
    assert_eq!(request.body["input"], "{\"title\":\"It crashes\"}");
    assert_eq!(
        request.body["questions"][0]["choices"],
        json!([{"value": "bug", "description": "It fails"}, {"value": "idea"}])
    );
    assert_eq!(
        request.body["questions"][1]["levels"][2],
        json!({"label": "large"})
    );
    assert_eq!(
        request.body["questions"][2],
        json!({"type": "predicate", "name": "done", "instructions": "Done?\n\nTrue: closed\nFalse: open"})
    );
    let with_image = decisions::request(&model, &asked(1)).unwrap();
    assert_eq!(
        with_image.body["input"][0]["content"][1]["type"],
        "input_image"
    );
    let reply = json!({"answers": [
        {"name": "done", "type": "predicate", "probability": 0.75},
        {"name": "kind", "type": "choice", "choice": "idea", "confidence": 0.4,
         "probabilities": [{"value": "bug", "probability": 0.3}, {"value": "idea", "probability": 0.7}]},
        {"name": "size", "type": "score", "score": 0.5, "confidence": 1.0},
    ]});
    assert_eq!(
        decisions::answers(&asked(0), &reply).unwrap(),
        json!({
            "kind": {"choice": "idea", "probabilities": {"bug": 0.3, "idea": 0.7}, "confidence": 0.4},
            "size": {"score": 0.5, "confidence": 1.0},
            "done": {"probability": 0.75},
        })
    );
    let refused = json!({"answers": [{"name": "kind", "type": "refusal", "refusal": "no"}]});
    let failure = decisions::answers(&asked(0), &refused).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Refusal);
    assert_eq!(failure.message, "the model refused to answer `kind`: no");
}

#[test]
fn answers_that_are_none_are_failures() {
    let missing = [
        json!({}),
        json!({"answers": {}}),
        json!({"answers": {"kind": {"choice": "other"}}}),
    ];
    for body in missing {
        assert!(system_one::answers(&asked(0), &body).is_err(), "{body}");
    }
    for body in [
        json!({}),
        json!({"answers": []}),
        json!({"answers": [{"name": "kind", "choice": "bug"}]}),
    ] {
        assert!(decisions::answers(&asked(0), &body).is_err(), "{body}");
    }
}

#[test]
fn probabilities_of_tokens_become_answers() {
    let asked = asked(0);
    let questions: Vec<&Question> = asked
        .questions
        .iter()
        .map(|(_, question)| question)
        .collect();
    let labels = |index: usize| {
        let question: &Question = questions[index];
        llama_cpp::labels(question)
            .into_iter()
            .map(|(label, _)| label)
            .collect::<Vec<_>>()
    };
    assert_eq!(labels(0), ["A", "B"]);
    assert_eq!(labels(1), ["0", "1", "2"]);
    assert_eq!(labels(2), ["Yes", "No"]);
    let third = (1.0_f64 / 3.0).ln();
    let even = llama_cpp::answer(questions[1], &[third, third, third]);
    assert!((even["score"].as_f64().unwrap() - 1.0).abs() < 1e-9);
    assert!(even["confidence"].as_f64().unwrap() < 1e-9);
    let sure = llama_cpp::answer(questions[0], &[0.0, -1_000.0]);
    assert_eq!(
        sure,
        json!({"choice": "bug", "probabilities": {"bug": 1.0, "idea": 0.0}, "confidence": 1.0})
    );
    let yes = llama_cpp::answer(questions[2], &[0.0, -1_000.0]);
    assert_eq!(yes, json!({"probability": 1.0}));
    assert_eq!(
        llama_cpp::probability_counts(2).collect::<Vec<_>>(),
        [256, 4_096, 32_768]
    );
    assert_eq!(llama_cpp::probability_counts(62).next(), Some(992));
    assert_eq!(llama_cpp::prompt("a<think>\n"), "a<think>\n\n</think>\n\n");
}

#[test]
fn images_are_asked_for_and_read() {
    let model = model(TaskApi::OpenRouterImages, Value::Null);
    let input = [
        json!({"type": "text", "text": "A cat"}),
        json!({"type": "image", "data": "AAAA", "mimeType": "image/jpeg"}),
    ];
    let request = images::request(&model, &input).unwrap();
    assert_eq!(request.url, "http://desk/v1/chat/completions");
    assert_eq!(request.body["modalities"], json!(["image", "text"]));
    assert_eq!(
        request.body["messages"][0]["content"][1]["image_url"]["url"],
        "data:image/jpeg;base64,AAAA"
    );
    let wrong = images::request(&model, &[json!("A cat")]).unwrap_err();
    assert!(wrong.message.starts_with("input[0] must be "), "{wrong}");
    let reply = json!({"choices": [{"message": {"content": "Here.", "images": [
        {"image_url": {"url": "data:image/png;base64,BBBB"}}, {"image_url": "data:image/webp;base64,CCCC"},
    ]}}], "usage": {"prompt_tokens": 1_000_000, "completion_tokens": 500_000}});
    assert_eq!(
        images::output(&reply).unwrap(),
        json!([
            {"type": "text", "text": "Here."},
            {"type": "image", "data": "BBBB", "mimeType": "image/png"},
            {"type": "image", "data": "CCCC", "mimeType": "image/webp"},
        ])
    );
    let usage = usage(&model, &reply).unwrap();
    assert_eq!(
        (usage.input, usage.output, usage.total_tokens),
        (1_000_000, 500_000, 1_500_000)
    );
    assert!((usage.cost.total - 2.0).abs() < 1e-9);
    for body in [
        json!({}),
        json!({"choices": [{"message": {"content": ""}}]}),
        json!({"choices": [{"message": {"images": [{"image_url": {"url": "https://elsewhere/x.png"}}]}}]}),
    ] {
        assert!(images::output(&body).is_err(), "{body}");
    }
}
