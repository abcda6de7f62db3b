//! How like a past incident a change is.

use proem_risk::history::Mends;
use proem_risk::incident::Incident;
use proem_risk::metric::{Metric, MetricName, Signal};

use crate::assess::world::{NOW, World, id, text};

const TOPICS: [&str; 5] = ["parser", "network", "cache", "layout", "printer"];

/// Sixty past commits about this and that, and a change with a subject.
fn world(subject: &str, incidents: &[(&str, &str)]) -> World {
    let mut world = World::new(&["src/login.py"]);
    for (commit, topic) in (0..60_i64).zip(TOPICS.iter().cycle()) {
        let path = format!("src/{topic}.py");
        world.says(100 - commit, "ann", &[path.as_str()], (&format!("{topic}: step {commit}"), Mends::Nothing));
    }
    world.change.subject = subject.to_owned();
    let incident = |(id, title): &(&str, &str)| Incident {
        id: (*id).to_owned(),
        title: (*title).to_owned(),
        body: String::new(),
        paths: Vec::new(),
        at: Some(NOW - 86_400 * 30),
    };
    world.incidents = incidents.iter().map(incident).collect();
    world
}

fn similarity(world: &World) -> Metric {
    world.measure(MetricName::IncidentSimilarity)
}

#[test]
fn the_score_is_a_percentile_of_past_commits() {
    let incidents = [("#123", "login timeout after permission check"), ("#7", "parser is slow")];
    let metric = similarity(&world("login: longer timeout after the permission check", &incidents));
    assert_eq!((metric.value, metric.signal), (Some(100.0), Signal::High));
    assert_eq!(
        text(&metric.evidence),
        "the nearest incident is ‹#123 login timeout after permission check›, 30 days before: nearer than 100 % of \
         60 past commits are to any"
    );
    assert_eq!(metric.rank.map(|rank| rank.among), Some(60));
    let metric = similarity(&world("zebra", &incidents[1..]));
    assert_eq!((metric.value, metric.signal), (Some(0.0), Signal::Low));
}

#[test]
fn without_incidents_or_commits_it_is_unknown() {
    let metric = similarity(&world("login", &[]));
    assert_eq!((metric.value, metric.signal), (None, Signal::Unknown));
    assert_eq!(text(&metric.evidence), "no incident is known to compare with");
    let mut few = world("login", &[("#1", "login broken")]);
    few.listed.truncate(49);
    assert_eq!(text(&similarity(&few).evidence), "49 past commits can be compared with, 50 are needed");
}

#[test]
fn nothing_is_matched_with_itself_or_with_what_came_after() {
    let own = id(999).to_string();
    let mut world =
        world("login: longer timeout", &[(own.get(..12).unwrap(), "login: longer timeout"), ("#9", "login is broken")]);
    world.change.id = Some(id(999));
    let metric = similarity(&world);
    assert!(
        text(&metric.evidence).starts_with("the nearest incident is ‹#9 login is broken›"),
        "{}",
        text(&metric.evidence)
    );
    world.incidents[1].at = Some(NOW + 1);
    assert_eq!(text(&similarity(&world).evidence), "no incident has a word in common with it");
}

#[test]
fn past_commits_are_not_matched_with_their_own_fix() {
    // Every past commit is an incident itself, and one more is like the change.
    let mut world = world("login: mended the door", &[("#1", "login door stuck")]);
    let own = world.listed.iter().map(|listed| Incident {
        id: listed.id.to_string().chars().take(12).collect(),
        title: listed.subject.clone(),
        body: String::new(),
        paths: Vec::new(),
        at: Some(listed.at),
    });
    let own: Vec<Incident> = own.collect();
    world.incidents.extend(own);
    // Matched with themselves, past commits would all be more alike than the change.
    assert_eq!(similarity(&world).signal, Signal::High);
}
