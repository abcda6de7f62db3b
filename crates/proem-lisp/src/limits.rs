//! How much a program may do, and how much it did.
//!
//! Everything is counted, never timed, so the same program with the same inputs stops at the same
//! place on every machine. Work is charged before it is done, in units that [`cost`] documents.

use crate::error::{Fault, Reason};
use alloc::format;

/// How deep maps and sets may nest inside keys of maps.
pub(crate) const KEY_LEVELS: usize = 64;

/// The limits of one program. All are finite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the source: `lisp.source_bytes`.
    pub source_bytes: usize,
    /// Levels of brackets in the source and of arrays and objects in JSON: `lisp.nesting`.
    pub nesting: usize,
    /// Decimal digits of an integer, read or computed: `lisp.digits`.
    pub digits: usize,
    /// Parameters of a short function, the highest `%n`: `lisp.short_function_arity`.
    pub short_function_arity: usize,
    /// Units of work, about one for each step: `lisp.fuel`.
    pub fuel: u64,
    /// Bytes of values that are alive at one time: `lisp.bytes`.
    pub bytes: usize,
    /// Elements of one collection: `lisp.collection_size`.
    pub collection_size: usize,
    /// Bytes printed: `lisp.output_bytes`.
    pub output_bytes: usize,
    /// Calls of tools: `lisp.tool_calls`.
    pub tool_calls: usize,
    /// Steps of the searches of one call, each at most an expression's size times the text's length:
    /// `lisp.regex_steps`.
    pub regex_steps: u64,
    /// Branches of `pmap` and `pcalls` that are open at one time: `lisp.parallel_branches`.
    pub parallel_branches: usize,
    /// Bytes of the memory that a successful program leaves: `lisp.memory_bytes`.
    pub memory_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            source_bytes: 256 << 10,
            nesting: 200,
            digits: 1_000,
            // Clojure's own limit.
            short_function_arity: 20,
            fuel: 50_000_000,
            bytes: 64 << 20,
            collection_size: 1_000_000,
            output_bytes: 64 << 10,
            tool_calls: 100,
            regex_steps: 20_000_000,
            parallel_branches: 64,
            memory_bytes: 1 << 20,
        }
    }
}

/// The prices of work in fuel and the sizes of values in bytes.
pub mod cost {
    /// One step of the machine.
    pub const STEP: u64 = 1;
    /// A call of a function that the program defines, beyond its steps.
    pub const CALL: u64 = 4;
    /// One element visited by a function over a collection.
    pub const ELEMENT: u64 = 1;
    /// One comparison of two elements when sorting.
    pub const COMPARISON: u64 = 2;
    /// How many bytes of text are handled for one unit.
    pub const TEXT_BYTES: u64 = 16;
    /// How many bytes are allocated, and later dropped, for one unit.
    pub const ALLOCATED_BYTES: u64 = 64;
    /// Steps of a regular expression for one unit.
    pub const REGEX_STEPS: u64 = 4;

    /// Bytes of a value in a collection.
    pub const SLOT: usize = 16;
    /// Bytes of a collection, a text or a function before its contents.
    pub const OBJECT: usize = 64;
    /// Bytes of one entry of a map or set.
    pub const ENTRY: usize = 64;
}

/// What a program has used, against its limits.
#[derive(Debug, Clone)]
pub struct Meter {
    limits: Limits,
    fuel: u64,
    bytes: usize,
    /// How many keys inside keys are being compared.
    key_level: usize,
    /// The fuel at which the run at hand stops.
    pause_at: u64,
    /// The bytes at which what is alive is to be counted.
    count_at: usize,
}

impl Meter {
    /// A meter that nothing has been charged to.
    #[must_use]
    pub const fn new(limits: Limits) -> Self {
        Self { limits, fuel: 0, bytes: 0, key_level: 0, pause_at: 0, count_at: limits.bytes / 2 }
    }

    /// A meter for what isn't a program's work, such as comparing results in a test.
    #[must_use]
    pub fn unlimited() -> Self {
        let limits = Limits::default();
        Self::new(Limits {
            nesting: usize::MAX,
            digits: usize::MAX,
            fuel: u64::MAX,
            bytes: usize::MAX,
            collection_size: usize::MAX,
            output_bytes: usize::MAX,
            regex_steps: u64::MAX,
            ..limits
        })
    }

    /// The most that the program may use of everything.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Units of fuel used.
    #[must_use]
    pub const fn fuel_used(&self) -> u64 {
        self.fuel
    }

    /// Bytes alive or allocated since they were last counted.
    #[must_use]
    pub const fn bytes_used(&self) -> usize {
        self.bytes
    }

    /// Replaces the bytes allocated by those found alive.
    ///
    /// Counting costs as much as is alive, so the next time waits for as much to be allocated.
    pub(crate) fn set_bytes_alive(&mut self, bytes: usize) {
        self.bytes = bytes;
        let left = self.limits.bytes.saturating_sub(bytes);
        self.count_at = bytes.saturating_add((left / 2).max(self.limits.bytes / 16));
    }

    /// What a stored machine keeps of a meter: fuel, bytes, and the bytes at which what is alive is to be counted.
    ///
    /// How far the host lets a run go is no part of the state: pieces give what the whole gives.
    pub(crate) const fn counts(&self) -> (u64, usize, usize) {
        (self.fuel, self.bytes, self.count_at)
    }

    /// The meter of a machine that was stored.
    pub(crate) const fn with_counts(limits: Limits, (fuel, bytes, count_at): (u64, usize, usize)) -> Self {
        Self { limits, fuel, bytes, key_level: 0, pause_at: fuel, count_at }
    }

    /// Lets the machine use so much more fuel before it stops for its host.
    pub(crate) fn allow(&mut self, fuel: u64) {
        self.pause_at = self.pause_at.max(self.fuel).saturating_add(fuel);
    }

    /// Whether the fuel of this run is used.
    #[inline]
    pub(crate) const fn is_paused(&self) -> bool {
        self.fuel >= self.pause_at
    }

    /// Whether so much was allocated that what is alive is to be counted.
    #[inline]
    pub(crate) const fn is_count_due(&self) -> bool {
        self.bytes >= self.count_at
    }

    /// Charges `units` of fuel.
    ///
    /// # Errors
    ///
    /// [`Reason::FuelExhausted`] if that is more than is left.
    #[inline]
    pub fn work(&mut self, units: u64) -> Result<(), Fault> {
        self.fuel = self.fuel.saturating_add(units);
        if self.fuel > self.limits.fuel { Err(self.fuel_fault()) } else { Ok(()) }
    }

    /// Charges `count` elements visited.
    ///
    /// # Errors
    ///
    /// As [`Meter::work`].
    pub fn elements(&mut self, count: usize) -> Result<(), Fault> {
        self.work(u64::try_from(count).unwrap_or(u64::MAX).saturating_mul(cost::ELEMENT))
    }

    /// Charges reading or comparing `bytes` of text.
    ///
    /// # Errors
    ///
    /// As [`Meter::work`].
    pub fn text(&mut self, bytes: usize) -> Result<(), Fault> {
        self.work(u64::try_from(bytes).unwrap_or(u64::MAX) / cost::TEXT_BYTES)
    }

    /// Charges `bytes` about to be allocated, with the work of making and dropping them.
    ///
    /// # Errors
    ///
    /// [`Reason::MemoryExceeded`] or [`Reason::FuelExhausted`] if that is more than is left.
    #[inline]
    pub fn allocate(&mut self, bytes: usize) -> Result<(), Fault> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.limits.bytes {
            return Err(self.bytes_fault());
        }
        self.work(u64::try_from(bytes).unwrap_or(u64::MAX) / cost::ALLOCATED_BYTES)
    }

    /// Charges a text of `bytes` about to be made.
    ///
    /// # Errors
    ///
    /// As [`Meter::allocate`].
    pub fn new_text(&mut self, bytes: usize) -> Result<(), Fault> {
        self.allocate(bytes.saturating_add(cost::OBJECT))
    }

    /// Checks the size of a collection about to be made or to grow.
    ///
    /// # Errors
    ///
    /// [`Reason::MemoryExceeded`] if it is larger than a collection may be.
    #[inline]
    pub fn collection(&self, size: usize) -> Result<(), Fault> {
        if size > self.limits.collection_size { Err(self.collection_fault()) } else { Ok(()) }
    }

    /// Checks the number of digits of an integer.
    ///
    /// # Errors
    ///
    /// [`Reason::EvalError`] if they are too many.
    pub fn digits(&self, digits: usize) -> Result<(), Fault> {
        if digits <= self.limits.digits {
            return Ok(());
        }
        let message = format!("an integer has more than {} digits", self.limits.digits);
        Err(Fault::limit(Reason::EvalError, message, "digits"))
    }

    /// Compares something inside a key, which calls itself for maps inside keys of maps.
    pub(crate) fn inside_key<T>(&mut self, compare: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        if self.key_level >= KEY_LEVELS {
            return Err(Fault::eval(format!("maps nest more than {KEY_LEVELS} levels deep inside keys")));
        }
        self.key_level = self.key_level.saturating_add(1);
        let result = compare(self);
        self.key_level = self.key_level.saturating_sub(1);
        result
    }

    #[cold]
    fn fuel_fault(&self) -> Fault {
        let message = format!("the program used its {} units of fuel", self.limits.fuel);
        Fault::limit(Reason::FuelExhausted, message, "fuel")
    }

    #[cold]
    fn bytes_fault(&self) -> Fault {
        let message = format!("the program's values need more than {} bytes", self.limits.bytes);
        Fault::limit(Reason::MemoryExceeded, message, "bytes")
    }

    #[cold]
    fn collection_fault(&self) -> Fault {
        let message = format!("a collection has more than {} elements", self.limits.collection_size);
        Fault::limit(Reason::MemoryExceeded, message, "collection_size")
    }
}
