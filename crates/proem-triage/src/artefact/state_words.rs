//! The meaning of trackers' own words for sections and statuses.
//!
//! A person names the sections of a board, so a word tells figures and highlights how far the work is. It ends nothing: that
//! a ticket is done is for the tracker's own mark to say.

use serde::Deserialize;

use super::ticket::TicketProgress;

/// Names of sections and statuses in lower case, by what they represent, in the languages of the guard's phrases. A
/// name is compared as a whole.
const WORDS: [(TicketProgress, &[&str]); 4] = [
    (
        TicketProgress::ToDo,
        &[
            "to do",
            "todo",
            "to-do",
            "backlog",
            "open",
            "new",
            "next",
            "ready",
            "planned",
            "zu erledigen",
            "offen",
            "geplant",
            "à faire",
            "a faire",
            "ouvert",
            "planifié",
            "por hacer",
            "pendiente",
            "a fazer",
            "por fazer",
            "pendente",
            "da fare",
            "te doen",
            "do zrobienia",
            "yapılacak",
            "yapılacaklar",
            "сделать",
            "к выполнению",
            "зробити",
            "待办",
            "待辦",
            "待处理",
            "未着手",
            "할 일",
            "할일",
            "việc cần làm",
            "akan dikerjakan",
            "للتنفيذ",
            "करना है",
            "att göra",
            "å gjøre",
        ],
    ),
    (
        TicketProgress::InProgress,
        &[
            "in progress",
            "doing",
            "in review",
            "review",
            "in development",
            "wip",
            "started",
            "in arbeit",
            "in bearbeitung",
            "in prüfung",
            "en cours",
            "en revue",
            "en curso",
            "en progreso",
            "haciendo",
            "em andamento",
            "em curso",
            "em progresso",
            "fazendo",
            "in corso",
            "bezig",
            "in behandeling",
            "w toku",
            "w trakcie",
            "devam ediyor",
            "devam eden",
            "в работе",
            "в процессе",
            "в роботі",
            "进行中",
            "進行中",
            "作業中",
            "진행 중",
            "진행중",
            "đang làm",
            "đang thực hiện",
            "sedang dikerjakan",
            "قيد التنفيذ",
            "प्रगति में",
            "pågår",
            "pågående",
        ],
    ),
    (
        TicketProgress::Blocked,
        &[
            "blocked",
            "on hold",
            "waiting",
            "impediment",
            "impeded",
            "blockiert",
            "wartend",
            "bloqué",
            "en attente",
            "bloqueado",
            "bloqueada",
            "en espera",
            "em espera",
            "impedido",
            "bloccato",
            "in attesa",
            "geblokkeerd",
            "wacht",
            "zablokowane",
            "wstrzymane",
            "engellendi",
            "beklemede",
            "заблокировано",
            "ожидание",
            "заблоковано",
            "阻塞",
            "受阻",
            "已阻止",
            "ブロック中",
            "保留",
            "차단됨",
            "보류",
            "bị chặn",
            "terblokir",
            "terhambat",
            "محظور",
            "अवरुद्ध",
            "blockerad",
            "blokkert",
        ],
    ),
    (
        TicketProgress::Done,
        &[
            "done",
            "complete",
            "completed",
            "closed",
            "finished",
            "resolved",
            "erledigt",
            "fertig",
            "abgeschlossen",
            "terminé",
            "fait",
            "fini",
            "hecho",
            "terminado",
            "completado",
            "concluído",
            "concluido",
            "feito",
            "completato",
            "fatto",
            "klaar",
            "gereed",
            "gotowe",
            "zrobione",
            "tamamlandı",
            "bitti",
            "готово",
            "выполнено",
            "виконано",
            "完成",
            "已完成",
            "完了",
            "완료",
            "hoàn thành",
            "xong",
            "selesai",
            "مكتمل",
            "पूर्ण",
            "klar",
            "ferdig",
        ],
    ),
];

/// Names of sections and statuses that a project adds to those that ship.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SectionStates {
    /// Work has not begun.
    pub to_do: Vec<String>,
    /// Somebody works on it.
    pub in_progress: Vec<String>,
    /// It is blocked.
    pub blocked: Vec<String>,
    /// Nobody works on it any more.
    pub done: Vec<String>,
}

impl SectionStates {
    /// The meaning of a section or status of this name. The project's own words count before those that ship.
    pub(crate) fn progress_of(&self, name: &str) -> Option<TicketProgress> {
        let name = name.trim().trim_end_matches(':').to_lowercase();
        let own = [
            (TicketProgress::ToDo, &self.to_do),
            (TicketProgress::InProgress, &self.in_progress),
            (TicketProgress::Blocked, &self.blocked),
            (TicketProgress::Done, &self.done),
        ];
        let own = own.into_iter().find(|(_, words)| words.iter().any(|word| word.trim().to_lowercase() == name));
        let shipped = || WORDS.iter().find(|(_, words)| words.contains(&name.as_str())).map(|(progress, _)| *progress);
        own.map(|(progress, _)| progress).or_else(shipped)
    }

    /// All words that the project adds.
    pub(crate) fn all(&self) -> impl Iterator<Item = &String> {
        [&self.to_do, &self.in_progress, &self.blocked, &self.done].into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_word_stands_for_one_thing() {
        let mut known = BTreeSet::new();
        for word in WORDS.iter().flat_map(|(_, words)| *words) {
            assert!(known.insert(word), "{word}");
            assert_eq!(word.to_lowercase(), **word);
        }
    }

    #[test]
    fn names_are_compared_as_a_whole_and_the_projects_own_come_first() {
        let own = SectionStates {
            blocked: vec!["Review".to_owned(), "Warten auf Kunde".to_owned()],
            ..SectionStates::default()
        };
        let check =
            |name: &str, expected: Option<TicketProgress>| assert_eq!(own.progress_of(name), expected, "{name}");
        check("In Progress", Some(TicketProgress::InProgress));
        check(" En cours: ", Some(TicketProgress::InProgress));
        check("Blockiert", Some(TicketProgress::Blocked));
        check("warten auf kunde", Some(TicketProgress::Blocked));
        check("Review", Some(TicketProgress::Blocked));
        check("Not blocked", None);
        check("Sprint 12", None);
    }
}
