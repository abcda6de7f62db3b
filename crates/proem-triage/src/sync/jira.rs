//! Jira Cloud: a project's issues by `search/jql`, with all their comments.
//!
//! Sources: Atlassian, "Issue search"
//! (<https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issue-search/>), "Issue comments"
//! (<https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issue-comments/>), "Server info"
//! (<https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-server-info/>) and "JQL functions and
//! relative dates" (<https://support.atlassian.com/jira-software-cloud/docs/jql-fields/>).
//!
//! A search has an order that no edit changes, the time of creation: an issue that is edited meanwhile keeps its place,
//! so no page loses it. The lower bound is an age on the server's own clock, with [`OVERLAP`] more, because JQL reads
//! dates in the zone of the account and by the minute.

use std::collections::BTreeSet;
use std::mem;

use serde_json::{Value as Json, json};

use super::query::{address_with, percent_encoded};
use super::walk::{
    SyncAnswer, SyncFault, SyncPage, SyncPlan, SyncRequest, SyncWalk, accepts_json, check_status, take_list,
};
use crate::date::parse_timestamp;
use crate::sources::text_at;

/// How many minutes before the last reading are read again: a search index lags behind edits.
const OVERLAP: i64 = 10;
/// The issues and comments of a page that are asked for.
const PAGE: &str = "100";
/// The same as a number.
const FULL_PAGE: u64 = 100;
/// The most pages of one issue's comments.
const MOST_COMMENT_PAGES: usize = 100;

/// The address of one issue.
pub(super) fn issue_request(plan: &SyncPlan, id: &str) -> SyncRequest {
    let path = format!("{}/rest/api/3/issue/{}", plan.base, percent_encoded(id));
    SyncRequest { url: address_with(&path, &[("fields", "*all"), ("expand", "changelog")]), headers: accepts_json() }
}

/// A reading of a project's issues.
#[derive(Debug)]
pub(super) struct JiraWalk {
    plan: SyncPlan,
    /// Everything that changed before this time of the server's was read.
    from: Option<i64>,
    phase: JiraPhase,
    seen: BTreeSet<String>,
    restarted: bool,
}

#[derive(Debug)]
enum JiraPhase {
    Clock,
    Search(JiraSearch),
    Comments(JiraSearch, UnfinishedIssues),
    Ended,
}

/// A search and the page of it that is next.
#[derive(Debug, Clone)]
struct JiraSearch {
    jql: String,
    /// The server's time as the search began.
    began: i64,
    token: Option<String>,
}

/// The issues of a page whose comments are not all there.
#[derive(Debug)]
struct UnfinishedIssues {
    issues: Vec<Json>,
    /// The places of those that need comments.
    open: Vec<usize>,
    comments: Vec<Json>,
    pages: usize,
    /// How many issues were deleted before their comments were read.
    missing: u64,
    /// The page behind this one. `None` if it is the last.
    next: Option<String>,
}

impl JiraWalk {
    pub(super) fn new(plan: SyncPlan, cursor: Option<&Json>) -> Self {
        let from = cursor.and_then(|cursor| cursor.get("from")?.as_i64()).or(plan.since.map(|since| since.0));
        let search = cursor.and_then(|cursor| {
            let walk = cursor.get("walk")?;
            Some(JiraSearch {
                jql: walk.get("jql")?.as_str()?.to_owned(),
                began: walk.get("began")?.as_i64()?,
                token: Some(walk.get("token")?.as_str()?.to_owned()),
            })
        });
        let phase = search.map_or(JiraPhase::Clock, JiraPhase::Search);
        Self { plan, from, phase, seen: BTreeSet::new(), restarted: false }
    }

    fn search_from(&self, server_now: i64) -> JiraSearch {
        let project = self.plan.part.replace('\\', "\\\\").replace('"', "\\\"");
        let changed = self.from.map_or_else(String::new, |from| {
            let minutes = server_now.saturating_sub(from).max(0) / 60_000;
            format!(" AND updated >= \"-{}m\"", minutes.saturating_add(1).saturating_add(OVERLAP))
        });
        let jql = format!("project = \"{project}\"{changed} ORDER BY created ASC, key ASC");
        JiraSearch { jql, began: server_now, token: None }
    }

    fn cursor_behind(&self, search: &JiraSearch, next: Option<&str>) -> Json {
        match next {
            Some(token) => {
                json!({ "from": self.from, "walk": { "jql": search.jql, "began": search.began, "token": token } })
            }
            None => json!({ "from": search.began }),
        }
    }

    fn take_issues(&mut self, search: JiraSearch, mut body: Json) -> Result<SyncPage, SyncFault> {
        let issues = take_list(&mut body, "issues")?;
        let token = body.get("nextPageToken").and_then(Json::as_str).filter(|token| !token.is_empty());
        if token.is_none() && body.get("isLast") == Some(&Json::Bool(false)) {
            return Err(SyncFault::Shape("`nextPageToken`, although more follows"));
        }
        let next = token.map(str::to_owned);
        if next.as_ref().is_some_and(|token| Some(token) == search.token.as_ref() || !self.seen.insert(token.clone())) {
            return Err(SyncFault::Circle);
        }
        let lacks_comments = |issue: &Json| {
            let comment = issue.pointer("/fields/comment");
            let there = comment.and_then(|comment| comment.get("comments")?.as_array()).map_or(0, Vec::len);
            let total = comment.and_then(|comment| comment.get("total")?.as_u64()).unwrap_or(0);
            total > there as u64 && text_at(issue, "/id").is_some()
        };
        let open: Vec<usize> =
            issues.iter().enumerate().filter(|(_, issue)| lacks_comments(issue)).map(|(place, _)| place).collect();
        let unfinished = UnfinishedIssues { issues, open, comments: Vec::new(), pages: 0, missing: 0, next };
        Ok(self.go_on_with(search, unfinished))
    }

    /// Asks for the comments of the next issue that lacks some, or ends the page.
    fn go_on_with(&mut self, search: JiraSearch, mut page: UnfinishedIssues) -> SyncPage {
        if !page.open.is_empty() {
            self.phase = JiraPhase::Comments(search, page);
            return SyncPage::default();
        }
        let cursor = self.cursor_behind(&search, page.next.as_deref());
        self.phase = match page.next.take() {
            Some(token) => JiraPhase::Search(JiraSearch { token: Some(token), ..search }),
            None => JiraPhase::Ended,
        };
        SyncPage { values: page.issues, missing: page.missing, cursor: Some(cursor) }
    }

    fn take_comments(
        &mut self,
        search: JiraSearch,
        mut page: UnfinishedIssues,
        answer: SyncAnswer,
    ) -> Result<SyncPage, SyncFault> {
        let Some(place) = page.open.first().copied() else { return Ok(self.go_on_with(search, page)) };
        if answer.status == 404 {
            // Deleted between the two requests. It is known as the search showed it.
            page.open.remove(0);
            page.comments.clear();
            page.missing = page.missing.saturating_add(1);
            return Ok(self.go_on_with(search, page));
        }
        check_status(answer.status, "the comments of an issue")?;
        let mut body = answer.body;
        let comments = take_list(&mut body, "comments")?;
        let count = comments.len();
        page.comments.extend(comments);
        page.pages = page.pages.saturating_add(1);
        let total = body.get("total").and_then(Json::as_u64).unwrap_or(0);
        let full = body.get("maxResults").and_then(Json::as_u64).unwrap_or(FULL_PAGE).min(FULL_PAGE);
        // The total alone is not believed: a full page may have another one behind it, and an empty one is the end.
        let is_last = count == 0 || ((count as u64) < full && page.comments.len() as u64 >= total);
        if page.pages > MOST_COMMENT_PAGES {
            return Err(SyncFault::Circle);
        }
        if is_last {
            page.open.remove(0);
            page.pages = 0;
            let all = unique_comments(mem::take(&mut page.comments));
            let comment = page.issues.get_mut(place).and_then(|issue| issue.pointer_mut("/fields/comment"));
            if let Some(comment) = comment.and_then(Json::as_object_mut) {
                comment.insert("total".to_owned(), Json::from(all.len()));
                comment.insert("comments".to_owned(), Json::Array(all));
            }
        }
        Ok(self.go_on_with(search, page))
    }
}

/// Each comment once: a page that was deleted from shifts those behind it.
fn unique_comments(comments: Vec<Json>) -> Vec<Json> {
    let mut seen = BTreeSet::new();
    comments.into_iter().filter(|comment| text_at(comment, "/id").is_none_or(|id| seen.insert(id))).collect()
}

impl SyncWalk for JiraWalk {
    fn request(&self) -> Option<SyncRequest> {
        let base = &self.plan.base;
        let url = match &self.phase {
            JiraPhase::Clock => format!("{base}/rest/api/3/serverInfo"),
            JiraPhase::Search(search) => {
                let mut query = vec![
                    ("jql", search.jql.as_str()),
                    ("fields", "*all"),
                    ("expand", "changelog"),
                    ("maxResults", PAGE),
                ];
                query.extend(search.token.as_deref().map(|token| ("nextPageToken", token)));
                address_with(&format!("{base}/rest/api/3/search/jql"), &query)
            }
            JiraPhase::Comments(_, page) => {
                let issue = page.open.first().and_then(|place| page.issues.get(*place));
                let id = issue.and_then(|issue| text_at(issue, "/id")).unwrap_or_default();
                let path = format!("{base}/rest/api/3/issue/{}/comment", percent_encoded(&id));
                let start = page.comments.len().to_string();
                address_with(&path, &[("startAt", start.as_str()), ("maxResults", PAGE), ("orderBy", "created")])
            }
            JiraPhase::Ended => return None,
        };
        Some(SyncRequest { url, headers: accepts_json() })
    }

    fn take(&mut self, answer: SyncAnswer) -> Result<SyncPage, SyncFault> {
        match mem::replace(&mut self.phase, JiraPhase::Ended) {
            JiraPhase::Clock => {
                check_status(answer.status, "the time of the server")?;
                let now = text_at(&answer.body, "/serverTime").and_then(|text| parse_timestamp(&text).ok());
                let now = now.ok_or(SyncFault::Shape("`serverTime` that can be read"))?;
                self.phase = JiraPhase::Search(self.search_from(now));
                Ok(SyncPage::default())
            }
            JiraPhase::Search(search) => {
                // A token that is too old is refused like that. Once, the search begins anew.
                if answer.status == 400 && search.token.is_some() && !self.restarted {
                    self.restarted = true;
                    self.seen.clear();
                    self.phase = JiraPhase::Clock;
                    return Ok(SyncPage::default());
                }
                check_status(answer.status, "the search for issues")?;
                self.take_issues(search, answer.body)
            }
            JiraPhase::Comments(search, page) => self.take_comments(search, page, answer),
            JiraPhase::Ended => Ok(SyncPage::default()),
        }
    }
}
