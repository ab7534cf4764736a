use super::*;

fn server(name: &str, description: &str, exposures: &[McpExposure]) -> ServerSummary {
    ServerSummary {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        instructions: None,
        exposures: exposures.to_vec(),
    }
}

fn section(servers: &[ServerSummary], search: Option<&str>) -> Option<String> {
    let tools = SectionTools {
        script: Some("exec".to_owned()),
        search: search.map(str::to_owned),
    };
    servers_section(servers, &tools)
}

#[test]
fn servers_are_listed_by_name_with_the_ways_to_them() {
    let servers = [
        server("web", "Searches\nthe web", &[McpExposure::Deferred]),
        server(
            "direct",
            "Declared",
            &[McpExposure::Direct, McpExposure::Hidden],
        ),
        ServerSummary {
            description: None,
            instructions: Some("\n  Documents\tof the team.\nUse them.".to_owned()),
            ..server(
                "dev-docs",
                "",
                &[McpExposure::Codemode, McpExposure::Deferred],
            )
        },
        server("bare", "", &[McpExposure::Codemode]),
    ];
    assert_eq!(
        section(&servers, Some("tool_search")).unwrap(),
        "These MCP servers are configured. Their tools are not declared to you. Those of servers marked (exec) are called from \
         `exec` programs: find them with `searchTools(query, { namespace })`, and read how a server is meant to be used with \
         `describeNamespace(namespace)`. Those of servers marked (tool_search) are declared to you once `tool_search` has found \
         them.\n\n\
         - mcp__bare (exec)\n\
         - mcp__dev_docs (exec, tool_search): Documents of the team.\n\
         - mcp__web (tool_search): Searches"
    );
    let mut reversed = servers.to_vec();
    reversed.reverse();
    assert_eq!(
        section(&servers, Some("tool_search")),
        section(&reversed, Some("tool_search"))
    );
}

#[test]
fn only_the_ways_used_are_explained() {
    let deferred = [server("a", "A", &[McpExposure::Deferred])];
    let with_search = section(&deferred, Some("tool_search")).unwrap();
    assert!(
        !with_search.contains("exec") && with_search.ends_with("\n\n- mcp__a (tool_search): A"),
        "{with_search}"
    );
    let without_search = section(&deferred, None).unwrap();
    assert!(!without_search.contains("once"), "{without_search}");
    assert!(
        without_search.ends_with("\n\n- mcp__a (exec): A"),
        "{without_search}"
    );
    assert_eq!(
        section(&[server("a", "A", &[McpExposure::Direct])], None),
        None
    );
    assert_eq!(section(&[], None), None);
}

#[test]
fn a_crowd_shrinks_to_the_limit() {
    let crowd = |count: usize, description: &str| -> String {
        let servers: Vec<ServerSummary> = (0..count)
            .map(|index| {
                server(
                    &format!("server{index:04}"),
                    description,
                    &[McpExposure::Codemode],
                )
            })
            .collect();
        section(&servers, None).unwrap()
    };
    let long = "ä".repeat(300);
    let few = crowd(3, &long);
    assert!(
        few.ends_with(&format!("(exec): {}…", "ä".repeat(249))),
        "{few}"
    );
    for (count, names_all) in [(30, true), (90, true), (140, true), (5_000, false)] {
        let text = crowd(count, &long);
        assert!(
            text.chars().count() <= SECTION_CHARS_MAX,
            "{count}: {}",
            text.chars().count()
        );
        assert_eq!(
            text.contains(&format!("server{:04}", count - 1)),
            names_all,
            "{text}"
        );
    }
    let text = crowd(5_000, &long);
    let shown = text.matches("(exec)").count() - 1;
    assert!(
        text.ends_with(&format!("\n- and {} more", 5_000 - shown)),
        "{text}"
    );
    assert!(text.chars().count() > SECTION_CHARS_MAX - 40);
}
