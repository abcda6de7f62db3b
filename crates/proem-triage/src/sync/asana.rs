//! Asana: a project's events, and the tasks and stories that they name.
//!
//! Sources: Asana, "Get events on a resource" (<https://developers.asana.com/reference/getevents>), "Get multiple
//! tasks" (<https://developers.asana.com/reference/gettasks>) and "Get stories from a task"
//! (<https://developers.asana.com/reference/getstoriesfortask>). A sync token that is missing or too old is answered
//! with 412 and a new one. Then the tasks are listed after the new token is known, so that a change during the listing is
//! an event behind it.

use std::collections::{BTreeSet, VecDeque};

use serde_json::{Value as Json, json};

use super::query::{address_with, percent_encoded};
use super::walk::{
    SyncAnswer, SyncFault, SyncPage, SyncPlan, SyncRequest, SyncWalk, accepts_json, check_status, take_list,
};
use crate::date::{parse_timestamp, utc_timestamp};
use crate::sources::text_at;
use proem_engine::run::Time;

/// How many milliseconds before the last known change are listed again.
const OVERLAP: i64 = 600_000;
/// The tasks or stories of a page.
const PAGE: &str = "100";

const TASK_PARTS: &str = "resource_type,name,notes,completed,completed_at,created_at,created_by.name,modified_at,\
    assignee.name,due_on,due_at,memberships.project.name,memberships.section.name,projects.name,parent.name,tags.name,\
    custom_fields.name,custom_fields.display_value,permalink_url";
const STORY_PARTS: &str = "resource_type,type,resource_subtype,text,created_at,created_by.name,target.name";

/// The address of one task.
pub(super) fn task_request(plan: &SyncPlan, gid: &str) -> SyncRequest {
    object_at(plan, "tasks", gid, TASK_PARTS)
}

/// The address of one story.
pub(super) fn story_request(plan: &SyncPlan, gid: &str) -> SyncRequest {
    object_at(plan, "stories", gid, STORY_PARTS)
}

fn object_at(plan: &SyncPlan, list: &str, gid: &str, parts: &str) -> SyncRequest {
    let path = format!("{}/api/1.0/{list}/{}", plan.base, percent_encoded(gid));
    SyncRequest { url: address_with(&path, &[("opt_fields", parts)]), headers: accepts_json() }
}

/// A reading of a project.
#[derive(Debug)]
pub(super) struct AsanaWalk {
    plan: SyncPlan,
    /// The token of the next events. `None` before there is one.
    token: Option<String>,
    /// The last change that is known to have been read, on Asana's clock.
    known: Option<i64>,
    /// The listing that is under way.
    listing: Option<TaskListing>,
    page: AsanaPage,
    seen: BTreeSet<String>,
    has_ended: bool,
}

/// The page that is read.
#[derive(Debug)]
struct AsanaPage {
    /// The missing part.
    wanted: VecDeque<WantedPart>,
    values: Vec<Json>,
    missing: u64,
    turn: PageTurn,
}

#[derive(Debug, Clone)]
struct TaskListing {
    since: Option<i64>,
    offset: Option<String>,
    /// The last change among the tasks so far.
    newest: Option<i64>,
}

/// Something beside a page that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum WantedPart {
    Task(String),
    Story(String),
    /// The stories of a task, from an offset.
    Stories(String, Option<String>),
}

/// The page behind the present one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageTurn {
    More,
    End,
}

impl AsanaWalk {
    pub(super) fn new(plan: SyncPlan, cursor: Option<&Json>) -> Self {
        let text = |at: &str| cursor.and_then(|cursor| cursor.pointer(at)?.as_str()).map(str::to_owned);
        let number = |at: &str| cursor.and_then(|cursor| cursor.pointer(at)?.as_i64());
        let token = text("/sync");
        let is_listing = cursor.is_some_and(|cursor| cursor.get("listing").is_some_and(Json::is_object));
        let listing = is_listing.then(|| TaskListing {
            since: number("/listing/since"),
            offset: text("/listing/offset"),
            newest: number("/listing/newest"),
        });
        Self {
            plan,
            listing: listing.filter(|_| token.is_some()),
            token,
            known: number("/known"),
            page: AsanaPage { wanted: VecDeque::new(), values: Vec::new(), missing: 0, turn: PageTurn::End },
            seen: BTreeSet::new(),
            has_ended: false,
        }
    }

    fn cursor(&self) -> Json {
        let listing = self
            .listing
            .as_ref()
            .map(|TaskListing { since, offset, newest }| json!({ "since": since, "offset": offset, "newest": newest }));
        json!({ "sync": self.token, "known": self.known, "listing": listing })
    }

    /// Ends the present page once nothing of it is wanted.
    fn finish_page(&mut self) -> SyncPage {
        if !self.page.wanted.is_empty() {
            return SyncPage::default();
        }
        if self.page.turn == PageTurn::End {
            if let Some(listing) = self.listing.take() {
                self.known = self.known.max(listing.newest).or(listing.since);
            }
            self.has_ended = true;
        }
        let (values, missing) = (std::mem::take(&mut self.page.values), std::mem::take(&mut self.page.missing));
        SyncPage { values, missing, cursor: Some(self.cursor()) }
    }

    fn take_events(&mut self, mut answer: SyncAnswer) -> Result<SyncPage, SyncFault> {
        let token = text_at(&answer.body, "/sync");
        if answer.status == 412 {
            let token = token.ok_or(SyncFault::Shape("`sync`"))?;
            let since = self.known.map(|known| known.saturating_sub(OVERLAP)).or(self.plan.since.map(|time| time.0));
            self.token = Some(token);
            self.seen.clear();
            self.listing = Some(TaskListing { since, offset: None, newest: None });
            return Ok(SyncPage { cursor: Some(self.cursor()), ..SyncPage::default() });
        }
        check_status(answer.status, "the events of the project")?;
        let token = token.ok_or(SyncFault::Shape("`sync`"))?;
        let events = take_list(&mut answer.body, "data")?;
        let has_more = answer.body.get("has_more") == Some(&Json::Bool(true));
        if has_more && (self.token.as_ref() == Some(&token) || !self.seen.insert(token.clone())) {
            return Err(SyncFault::Circle);
        }
        self.token = Some(token);
        let mut named = BTreeSet::new();
        for event in events {
            let wanted = changed_object(&event).filter(|wanted| named.insert(wanted.clone()));
            self.page.wanted.extend(wanted);
            self.known = self.known.max(time_at(&event, "/created_at"));
            self.page.values.push(event);
        }
        self.page.turn = if has_more { PageTurn::More } else { PageTurn::End };
        Ok(self.finish_page())
    }

    fn take_tasks(&mut self, mut answer: SyncAnswer, mut listing: TaskListing) -> Result<SyncPage, SyncFault> {
        // An offset that is too old is refused like that. The listing begins anew, once: without one, it is an error.
        if answer.status == 400 && listing.offset.take().is_some() {
            self.seen.clear();
            self.listing = Some(TaskListing { newest: None, ..listing });
            return Ok(SyncPage::default());
        }
        check_status(answer.status, "the tasks of the project")?;
        let tasks = take_list(&mut answer.body, "data")?;
        let next = self.next_offset("tasks", &answer.body)?;
        self.page.turn = if next.is_some() { PageTurn::More } else { PageTurn::End };
        listing.offset = next;
        for task in tasks {
            listing.newest = listing.newest.max(time_at(&task, "/modified_at"));
            if let Some(gid) = text_at(&task, "/gid") {
                self.page.wanted.push_back(WantedPart::Stories(gid, None));
            }
            self.page.values.push(task);
        }
        self.listing = Some(listing);
        Ok(self.finish_page())
    }

    /// The next page of a list. Two lists may give the same offsets.
    fn next_offset(&mut self, list: &str, body: &Json) -> Result<Option<String>, SyncFault> {
        let next = text_at(body, "/next_page/offset");
        match &next {
            Some(offset) if !self.seen.insert(format!("{list} {offset}")) => Err(SyncFault::Circle),
            _ => Ok(next),
        }
    }

    fn take_part(&mut self, mut answer: SyncAnswer, part: WantedPart) -> Result<SyncPage, SyncFault> {
        if matches!(answer.status, 403 | 404) {
            // Gone meanwhile, or no longer to be seen: the event that says so is there, or will be.
            self.page.missing = self.page.missing.saturating_add(1);
        } else {
            check_status(answer.status, "a task or story")?;
            if let WantedPart::Stories(gid, _) = part {
                let stories = take_list(&mut answer.body, "data")?;
                // Asana's own entries tell how a task became what it is listed as.
                let is_comment = |story: &Json| {
                    let says = |name: &str, word: &str| story.get(name).and_then(Json::as_str) == Some(word);
                    says("resource_subtype", "comment_added") || says("type", "comment")
                };
                self.page.values.extend(stories.into_iter().filter(is_comment));
                if let Some(offset) = self.next_offset(&gid, &answer.body)? {
                    self.page.wanted.push_front(WantedPart::Stories(gid, Some(offset)));
                }
            } else {
                let object = answer.body.get_mut("data").map(Json::take).filter(Json::is_object);
                self.page.values.push(object.ok_or(SyncFault::Shape("`data`"))?);
            }
        }
        Ok(self.finish_page())
    }
}

/// The object that an event names, if it is there still.
fn changed_object(event: &Json) -> Option<WantedPart> {
    let action = text_at(event, "/action")?;
    let gid =
        text_at(event, "/resource/gid").filter(|_| matches!(action.as_str(), "added" | "changed" | "undeleted"))?;
    match text_at(event, "/resource/resource_type")?.as_str() {
        "task" => Some(WantedPart::Task(gid)),
        "story" => Some(WantedPart::Story(gid)),
        _ => None,
    }
}

fn time_at(value: &Json, place: &str) -> Option<i64> {
    text_at(value, place).and_then(|text| parse_timestamp(&text).ok())
}

impl SyncWalk for AsanaWalk {
    fn request(&self) -> Option<SyncRequest> {
        let api = format!("{}/api/1.0", self.plan.base);
        let of_list = |path: String, parts: &str, more: &[(&str, &str)]| SyncRequest {
            url: address_with(&path, &[&[("limit", PAGE), ("opt_fields", parts)], more].concat()),
            headers: accepts_json(),
        };
        match self.page.wanted.front() {
            Some(WantedPart::Task(gid)) => return Some(task_request(&self.plan, gid)),
            Some(WantedPart::Story(gid)) => return Some(story_request(&self.plan, gid)),
            Some(WantedPart::Stories(gid, offset)) => {
                let more: Vec<(&str, &str)> = offset.iter().map(|offset| ("offset", offset.as_str())).collect();
                return Some(of_list(format!("{api}/tasks/{}/stories", percent_encoded(gid)), STORY_PARTS, &more));
            }
            None if self.has_ended => return None,
            None => {}
        }
        if let Some(listing) = &self.listing {
            let since = listing.since.map(|since| utc_timestamp(Time(since)));
            let mut more = vec![("project", self.plan.part.as_str())];
            more.extend(since.as_deref().map(|since| ("modified_since", since)));
            more.extend(listing.offset.as_deref().map(|offset| ("offset", offset)));
            return Some(of_list(format!("{api}/tasks"), TASK_PARTS, &more));
        }
        let mut query = vec![("resource", self.plan.part.as_str())];
        query.extend(self.token.as_deref().map(|token| ("sync", token)));
        Some(SyncRequest { url: address_with(&format!("{api}/events"), &query), headers: accepts_json() })
    }

    fn take(&mut self, answer: SyncAnswer) -> Result<SyncPage, SyncFault> {
        if let Some(part) = self.page.wanted.pop_front() {
            return self.take_part(answer, part);
        }
        match self.listing.clone() {
            Some(listing) => self.take_tasks(answer, listing),
            None => self.take_events(answer),
        }
    }
}
