//! A message to a person, with a remedy.

use std::fmt;

/// A remedy, for callers that know the flags, commands or buttons for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Hint {
    /// Say what mode the task is to be done in.
    ChooseMode,
    /// Say how much of the files that were found is to be shown.
    ChooseDepth,
    /// Name the folder that the task is about.
    NameFolder,
    /// Choose another folder, whose project is meant.
    ChooseFolder,
    /// End the trust in what is being edited.
    EndEditing {
        /// The path that is edited, escaped.
        path: String,
    },
    /// Trust the files that were written.
    TrustFiles,
    /// Read the whole repository where its progress is seen.
    ReadWhole,
    /// See every key of the configuration.
    SeeEveryKey,
    /// See which agents have recorded results.
    ListFailures,
    /// See the names of the catalogue.
    ListCatalogue,
    /// Measure by recorded calls how far counts are from what providers report.
    MeasureCounts,
    /// Write the file that says who belongs to a project that is triaged.
    SetUpTriage,
    /// Look at the project's files that are not trusted, and decide.
    ReviewTrust,
    /// Name a model of the provider, or set it at a place of the configuration, in words.
    NameModel {
        /// The place where it can be set.
        or_set: String,
    },
    /// Name a provider beside the model, one of these.
    NameProvider(Vec<String>),
    /// Choose one of the providers that have a model of that name.
    ChooseProvider(Vec<String>),
    /// Let the run be recorded.
    Record,
    /// Make a new calibration of the guard.
    CalibrateGuard,
    /// Delete the file and fit the factors anew.
    FitFactors,
    /// List every problem of the catalogue.
    CheckCatalogue,
    /// See what a prompt learned.
    SeeLearned {
        /// The prompt's name.
        prompt: String,
    },
    /// See the recorded run.
    SeeRun {
        /// The run's short id.
        run: String,
    },
    /// See what was wrong with each answer, or give the prompt a value for this case.
    ExplainOrFallBack,
    /// See what the model said when it refused.
    SeeRefusal,
    /// Allow more input, or declare that a section has to be there.
    KeepSection,
    /// Send an input as a text, whatever it looks like.
    SendTextAsItIs,
    /// Give the text of one input by its name.
    NameInput,
    /// Let a run take longer.
    AllowMoreTime,
    /// Let the answer have more tokens.
    AllowLongerAnswer,
    /// Choose another file for a batch's results.
    ChooseResults,
    /// Delete the file of a batch's results, or choose another one.
    DeleteOrChooseResults,
    /// Make a book of prompts in the project.
    MakeBook,
    /// Make a prompt file of a file that another tool wrote.
    ImportPrompt {
        /// The file's path, escaped.
        path: String,
    },
    /// See what is wrong in a book, and fix it.
    CheckBook,
    /// Name one of the runs that are listed.
    NameRun,
    /// Name a second run to compare with.
    CompareRuns,
    /// Look at what in the task is an attack.
    ScanTask,
    /// Answer what a run asks.
    AnswerRun {
        /// The run's short id.
        run: String,
    },
    /// Take over the records of another installation.
    AdoptRecords,
    /// Name a folder of the repository whose changes are meant.
    NameRepository,
    /// Assess a change, which records an assessment.
    RecordAssessment,
    /// Assess a change and read the assessment's id in the report.
    ReadAssessmentId,
    /// Assess the change again.
    AssessAnew,
    /// Name neither a model nor a provider, and do without one.
    DoWithoutModel,
    /// List the runs, or all of them with those that asked no model.
    ListRuns {
        /// Whether all of them.
        all: bool,
    },
    /// Look at a run with its attempts.
    ListAttempts,
    /// Take what is not committed instead.
    TakeWorktree,
    /// Go on without records.
    DeclineRecords,
    /// Send the runs that an endpoint does not have yet.
    ExportRest,
    /// Make the prompt for a task in a repository, and ask with it.
    SendAssembly,
    /// See which actions there are.
    ListQueue,
    /// See which escalations there are.
    ListEscalations,
    /// See which signals there are.
    ListSignals,
    /// Put a key into a variable of the environment.
    SetKey {
        /// The variable's name.
        variable: String,
    },
    /// Say which model a role is.
    SetRole {
        /// The role that lacks a model.
        role: String,
    },
    /// Let the user alone read and write a file or folder.
    CloseToOthers {
        /// The path, escaped.
        path: String,
    },
    /// Set the last recorded time back, after a clock ran ahead.
    ResetClock,
    /// Check the policy and see what is wrong in it.
    CheckPolicy,
    /// Take Unicode as the encoding of the terminal.
    SetLocale,
    /// Ask the servers whether they can be reached and take the key.
    Connect,
}

/// A line for a person, with what could be done about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Message {
    /// The message, in our words, with names from outside escaped.
    pub text: String,
    /// A remedy.
    pub hint: Option<Hint>,
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self { text, hint: None }
    }
}

impl From<crate::Error> for Message {
    fn from(error: crate::Error) -> Self {
        let (text, hint) = (error.to_string(), error.hint().cloned());
        Self { text, hint }
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The subject of a note, for programs that filter notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteKind {
    /// A server that receives the user's data. Each one is disclosed once, so no caller may hide it.
    Privacy,
    /// The records: opening, writing, deleting and reading them.
    Records,
    /// Settings and files of the configuration that are ignored or replaced.
    Configuration,
    /// Files that nobody trusted, and what is used instead.
    Trust,
    /// A decision of the guard about a text from outside.
    Guard,
    /// Words that a prompt learned are part of a request: nobody finds them there unawares.
    Learned,
    /// Models, their providers, token estimates and recorded answers.
    Model,
    /// The catalogue of tools and skills, and its vectors.
    Catalogue,
    /// Parts of a prompt that are missing, cut or assumed.
    Prompt,
    /// The output of git for a folder.
    Git,
    /// A cycle of triage.
    Triage,
    /// A command's words about its own result.
    Command,
    /// The moment, such as a wait. It belongs to no result, so no document carries it.
    Progress,
}

proem_text::word_table! {
    /// The word in documents, which programs may rely on.
    pub NoteKind {
        Privacy = "privacy",
        Records = "records",
        Configuration = "configuration",
        Trust = "trust",
        Guard = "guard",
        Learned = "learned",
        Model = "model",
        Catalogue = "catalogue",
        Prompt = "prompt",
        Git = "git",
        Triage = "triage",
        Command = "command",
        Progress = "progress",
    }
}

/// Something that a person may want to know beside a result.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// The subject.
    pub kind: NoteKind,
    /// The words, with what could be done about it.
    pub message: Message,
}

impl Note {
    /// A note without a remedy.
    #[must_use]
    pub fn new(kind: NoteKind, text: impl Into<String>) -> Self {
        Self { kind, message: text.into().into() }
    }

    /// A note with what could be done about it.
    #[must_use]
    pub fn hinting(kind: NoteKind, text: impl Into<String>, hint: Hint) -> Self {
        Self { kind, message: Message { text: text.into(), hint: Some(hint) } }
    }
}

/// A result with what there is to say beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "its notes are for a person"]
pub struct WithNotes<T> {
    /// The result.
    pub value: T,
    /// The notes, in the order in which they arose.
    pub notes: Vec<Note>,
}

impl<T> WithNotes<T> {
    /// A result with nothing to say.
    pub const fn quiet(value: T) -> Self {
        Self { value, notes: Vec::new() }
    }

    /// The result. Its notes go behind the others.
    pub fn collect(self, notes: &mut Vec<Note>) -> T {
        notes.extend(self.notes);
        self.value
    }
}
