//! Jira, Microsoft Graph and Asana as their documents describe them, as far as Proem reads them, with small pages.
//!
//! Sources: those of `proem-triage::sync`.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

/// A page has this many objects.
const PAGE: usize = 2;
/// The time of the servers, which is not the clock's of this machine.
pub(crate) const SERVER_NOW: i64 = 1_764_500_000_000;

/// A provider with what it holds.
pub(crate) trait SourceWorld: Send {
    /// The answer to a `GET`.
    fn answer(&mut self, path: &str, query: &BTreeMap<String, String>) -> (u16, Json);
}

/// Decodes an address' path and query.
pub(crate) fn split_address(address: &str) -> (String, BTreeMap<String, String>) {
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    (decoded(path), pairs.map(|(name, value)| (decoded(name), decoded(value))).collect())
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next().unwrap(), rest.next().unwrap()];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// A time of the servers, some minutes before now.
pub(crate) fn minutes_ago(minutes: i64) -> String {
    proem_triage::utc_timestamp(proem_engine::run::Time(SERVER_NOW - minutes * 60_000))
}

/// An issue of the project `TES`.
pub(crate) fn issue(number: u32, summary: &str, minutes: i64) -> Json {
    json!({
        "id": format!("10{number}"), "key": format!("TES-{number}"),
        "self": format!("https://corp.atlassian.net/rest/api/3/issue/10{number}"),
        "fields": {
            "project": { "key": "TES" }, "summary": summary, "created": "2025-10-01T08:00:00.000+0000",
            "updated": minutes_ago(minutes), "status": { "name": "To Do", "statusCategory": { "key": "new" } },
            "reporter": { "accountId": "5b10", "displayName": "Ana" },
            "comment": { "comments": [], "total": 0, "startAt": 0, "maxResults": 0 },
        },
    })
}

/// Jira Cloud with issues in the order in which they were made.
#[derive(Clone, Default)]
pub(crate) struct Jira {
    pub(crate) issues: Vec<Json>,
    /// Comments by the id of their issue: a search shows none of them.
    pub(crate) comments: BTreeMap<String, Vec<Json>>,
    /// The totals of comments that are said, where they are wrong.
    pub(crate) lies: BTreeMap<String, u64>,
    /// Tokens from before this search are refused.
    pub(crate) epoch: u32,
}

impl Jira {
    /// Five issues, the second of which has three comments.
    pub(crate) fn sample() -> Self {
        let issues =
            (1..=5).map(|number| issue(number, &format!("Refund part {number}"), 5 + i64::from(number))).collect();
        let comment = |id: u32| json!({ "id": id.to_string(), "body": format!("Comment {id}"), "created": "2025-10-02T08:00:00.000+0000" });
        let comments = BTreeMap::from([("102".to_owned(), (71..=73).map(comment).collect())]);
        Self { issues, comments, ..Self::default() }
    }

    fn search(&self, query: &BTreeMap<String, String>) -> (u16, Json) {
        let jql = &query["jql"];
        assert!(jql.starts_with("project = \"TES\"") && jql.ends_with("ORDER BY created ASC, key ASC"), "{jql}");
        let age =
            jql.split("updated >= \"-").nth(1).map(|rest| rest.split('m').next().unwrap().parse::<i64>().unwrap());
        let is_wanted = |issue: &&Json| {
            age.is_none_or(|age| issue["fields"]["updated"].as_str().unwrap() >= minutes_ago(age).as_str())
        };
        let start = match query.get("nextPageToken").map(|token| token.split_once('/').unwrap()) {
            Some((epoch, _)) if epoch != self.epoch.to_string() => {
                return (400, json!({ "errorMessages": ["the token has expired"] }));
            }
            Some((_, start)) => start.parse().unwrap(),
            None => 0,
        };
        let all: Vec<Json> = self.issues.iter().filter(is_wanted).cloned().collect();
        let mut page: Vec<Json> = all.iter().skip(start).take(PAGE).cloned().collect();
        for issue in &mut page {
            let id = issue["id"].as_str().unwrap().to_owned();
            if let Some(comments) = self.comments.get(&id) {
                issue["fields"]["comment"]["total"] = json!(comments.len());
            }
        }
        let next = start + PAGE;
        let more = next < all.len();
        let mut answer = json!({ "issues": page, "isLast": !more });
        if more {
            answer["nextPageToken"] = json!(format!("{}/{next}", self.epoch));
        }
        (200, answer)
    }
}

impl SourceWorld for Jira {
    fn answer(&mut self, path: &str, query: &BTreeMap<String, String>) -> (u16, Json) {
        let parts: Vec<&str> = path.trim_start_matches("/rest/api/3/").split('/').collect();
        match parts.as_slice() {
            ["serverInfo"] => (200, json!({ "serverTime": minutes_ago(0) })),
            ["search", "jql"] => self.search(query),
            ["issue", id, "comment"] => {
                let Some(comments) = self.comments.get(*id) else { return (404, json!({})) };
                let start: usize = query["startAt"].parse().unwrap();
                let page: Vec<&Json> = comments.iter().skip(start).take(PAGE).collect();
                let total = self.lies.get(*id).copied().unwrap_or(comments.len() as u64);
                (200, json!({ "comments": page, "total": total, "startAt": start, "maxResults": PAGE }))
            }
            ["issue", id] => match self.issues.iter().find(|issue| issue["id"] == **id || issue["key"] == **id) {
                Some(issue) => (200, issue.clone()),
                None => (404, json!({ "errorMessages": ["Issue does not exist"] })),
            },
            _ => (404, json!({})),
        }
    }
}

/// A mailbox of Microsoft Graph: a list of changes, each a mail or what is left of one.
#[derive(Clone)]
pub(crate) struct Graph {
    /// The beginning of links.
    pub(crate) base: String,
    pub(crate) changes: Vec<Json>,
    /// Links from before this reading are too old.
    pub(crate) epoch: u32,
}

/// A mail.
pub(crate) fn mail(number: u32) -> Json {
    json!({
        "@odata.etag": format!("W/\"{number}\""), "id": format!("AAMk{number}"),
        "internetMessageId": format!("<{number}@corp.example>"), "subject": format!("Budget {number}"),
        "receivedDateTime": minutes_ago(i64::from(number)),
        "from": { "emailAddress": { "name": "Sam Okoro", "address": "sam@corp.example" } },
        "toRecipients": [{ "emailAddress": { "address": "pm@corp.example" } }],
        "body": { "contentType": "text", "content": format!("Part {number} is late.") }, "isDraft": false,
    })
}

impl Graph {
    /// Five mails, the first of which is gone meanwhile.
    pub(crate) fn sample(base: &str) -> Self {
        let mut changes: Vec<Json> = (1..=5).map(mail).collect();
        changes.push(json!({ "id": "AAMk1", "@removed": { "reason": "deleted" } }));
        Self { base: base.to_owned(), changes, epoch: 0 }
    }
}

impl SourceWorld for Graph {
    fn answer(&mut self, path: &str, query: &BTreeMap<String, String>) -> (u16, Json) {
        if let Some(id) = path.strip_prefix("/v1.0/users/pm@corp.example/messages/") {
            return match self.changes.iter().find(|mail| mail["id"] == id && mail.get("@removed").is_none()) {
                Some(mail) => (200, mail.clone()),
                None => (404, json!({ "error": { "code": "ErrorItemNotFound" } })),
            };
        }
        assert_eq!(path, "/v1.0/users/pm@corp.example/mailFolders/inbox/messages/delta");
        let start =
            match query.get("$skiptoken").or(query.get("$deltatoken")).map(|token| token.split_once('/').unwrap()) {
                Some((epoch, _)) if epoch != self.epoch.to_string() => {
                    return (410, json!({ "error": { "code": "SyncStateNotFound" } }));
                }
                Some((_, start)) => start.parse().unwrap(),
                None => 0,
            };
        let page: Vec<&Json> = self.changes.iter().skip(start).take(PAGE).collect();
        let next = start + page.len();
        let (name, token) = if next < self.changes.len() {
            ("@odata.nextLink", "$skiptoken")
        } else {
            ("@odata.deltaLink", "$deltatoken")
        };
        let link = format!("{}{path}?{token}={}/{next}", self.base, self.epoch);
        (200, json!({ "value": page, name: link }))
    }
}

/// A project of Asana with its tasks, stories and events.
#[derive(Clone, Default)]
pub(crate) struct Asana {
    pub(crate) tasks: Vec<Json>,
    pub(crate) stories: Vec<Json>,
    pub(crate) events: Vec<Json>,
    /// Tokens from before this one are too old.
    pub(crate) epoch: u32,
}

/// A task of the project 1208.
pub(crate) fn task(number: u32, name: &str, minutes: i64) -> Json {
    json!({
        "gid": format!("9{number}"), "resource_type": "task", "name": name, "notes": "", "completed": false,
        "created_at": "2025-10-01T08:00:00.000Z", "modified_at": minutes_ago(minutes),
        "memberships": [{ "project": { "gid": "1208", "name": "Warehouse" }, "section": { "gid": "5", "name": "Doing" } }],
    })
}

/// A comment on a task.
pub(crate) fn story(number: u32, of_task: u32) -> Json {
    json!({
        "gid": format!("7{number}"), "resource_type": "story", "type": "comment", "resource_subtype": "comment_added",
        "text": format!("Comment {number}"), "created_at": "2025-10-02T08:00:00.000Z",
        "created_by": { "gid": "12", "name": "Ann" }, "target": { "gid": format!("9{of_task}"), "name": "A task" },
    })
}

/// An event about a task or story.
pub(crate) fn event(action: &str, kind: &str, gid: &str, minutes: i64) -> Json {
    json!({
        "action": action, "created_at": minutes_ago(minutes), "type": kind, "user": { "gid": "12", "name": "Ann" },
        "resource": { "gid": gid, "resource_type": kind }, "parent": { "gid": "1208", "resource_type": "project" },
    })
}

impl Asana {
    /// Five tasks, the second of which has three comments.
    pub(crate) fn sample() -> Self {
        let tasks = (1..=5).map(|number| task(number, &format!("Shelf {number}"), 5 + i64::from(number))).collect();
        let mut stories: Vec<Json> = (1..=3).map(|number| story(number, 2)).collect();
        stories.push(json!({
            "gid": "79", "resource_type": "story", "type": "system", "resource_subtype": "assigned", "text": "assigned",
            "created_at": "2025-10-02T08:00:00.000Z", "target": { "gid": "92" },
        }));
        Self { tasks, stories, ..Self::default() }
    }

    fn page(all: &[Json], query: &BTreeMap<String, String>) -> (u16, Json) {
        let start: usize = query.get("offset").map_or(0, |offset| offset.parse().unwrap());
        let page: Vec<&Json> = all.iter().skip(start).take(PAGE).collect();
        let next = start + page.len();
        let more = if next < all.len() { json!({ "offset": next.to_string() }) } else { Json::Null };
        (200, json!({ "data": page, "next_page": more }))
    }
}

impl SourceWorld for Asana {
    fn answer(&mut self, path: &str, query: &BTreeMap<String, String>) -> (u16, Json) {
        let parts: Vec<&str> = path.trim_start_matches("/api/1.0/").split('/').collect();
        let one = |found: Option<&Json>| match found {
            Some(found) => (200, json!({ "data": found })),
            None => (404, json!({ "errors": [{ "message": "Not Found" }] })),
        };
        match parts.as_slice() {
            ["events"] => {
                assert_eq!(query["resource"], "1208");
                let known = query.get("sync").and_then(|token| token.split_once('/'));
                let Some((_, start)) = known.filter(|(epoch, _)| *epoch == self.epoch.to_string()) else {
                    let token = format!("{}/{}", self.epoch, self.events.len());
                    return (412, json!({ "errors": [{ "message": "Sync token invalid or too old" }], "sync": token }));
                };
                let start: usize = start.parse().unwrap();
                let page: Vec<&Json> = self.events.iter().skip(start).take(PAGE).collect();
                let next = start + page.len();
                let token = format!("{}/{next}", self.epoch);
                (200, json!({ "data": page, "sync": token, "has_more": next < self.events.len() }))
            }
            ["tasks"] => {
                let since = query.get("modified_since").cloned().unwrap_or_default();
                let changed = |task: &&Json| task["modified_at"].as_str().unwrap() >= since.as_str();
                let tasks: Vec<Json> = self.tasks.iter().filter(changed).cloned().collect();
                Self::page(&tasks, query)
            }
            ["tasks", gid, "stories"] => {
                let of_task = |story: &&Json| story["target"]["gid"] == **gid;
                let stories: Vec<Json> = self.stories.iter().filter(of_task).cloned().collect();
                Self::page(&stories, query)
            }
            ["tasks", gid] => one(self.tasks.iter().find(|task| task["gid"] == **gid)),
            ["stories", gid] => one(self.stories.iter().find(|story| story["gid"] == **gid)),
            _ => (404, json!({})),
        }
    }
}
