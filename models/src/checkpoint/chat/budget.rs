//! Bounds what a template may compute and hold: an engine in which every filter, test, function and operator of
//! unbounded cost is paid for.
//!
//! The weight of a value is the bytes of its text, plus a fixed amount for each of its parts, counted as often as it
//! occurs, so that a list that holds another one twice weighs twice as much. No value weighs more than [`HEAVIEST`],
//! and all values read and made together weigh no more than the budget. That bounds both time and memory: without it,
//! 50 lines that each write the text of the line before twice ask for a petabyte.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use minijinja::value::{ObjectRepr, Rest, ValueKind, ValueOrKwargs};
use minijinja::{
    Environment, Error, ErrorKind, State, Value, context, escape_formatter, filters, functions,
    tests,
};
use minijinja_contrib::pycompat::unknown_method_callback;

/// The names of operators as filters; a template cannot write them.
pub(super) const CONCAT: &str = "~";
pub(super) const IN: &str = "in?";
pub(super) const ITEM: &str = "[]";
pub(super) const SLICE: &str = "[:]";
/// The value itself, paid for.
pub(super) const PAID: &str = "=";
/// The value itself, paid for, if a namespace is to hold it.
pub(super) const HELD: &str = ".=";

/// Weight of one part of a value: about its size in memory.
const PART: usize = 32;
/// Largest weight of a value.
const HEAVIEST: usize = 4 << 20;
/// Largest total weight of all values read and made.
const BUDGET: usize = 128 << 20;
/// Greatest nesting depth: the engine recurses through the parts.
const DEEPEST: usize = 100;
/// Most instructions of a template; those of real models take some hundreds per message.
const FUEL: u64 = 100_000;

/// The remaining budget.
#[derive(Clone)]
struct Budget(Arc<AtomicUsize>);

fn error(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}

fn too_much() -> Error {
    error(format!(
        "it makes a value of more than {HEAVIEST} bytes, or one that is nested more than {DEEPEST} deep"
    ))
}

impl Budget {
    fn pay(&self, weight: usize) -> Result<(), Error> {
        if weight > HEAVIEST {
            return Err(too_much());
        }
        // One thread renders; the atomic only lets the engine's functions share it.
        let left = self.0.load(Ordering::Relaxed);
        match left.checked_sub(weight) {
            Some(left) => {
                self.0.store(left, Ordering::Relaxed);
                Ok(())
            }
            None => Err(error("it computes more than a chat template may")),
        }
    }

    /// Pays for all of `values`.
    fn pay_for(&self, values: &[Value]) -> Result<(), Error> {
        values.iter().try_for_each(|value| self.pay(weight(value)?))
    }

    /// A new value, paid for. A value that would be computed whenever it is read is computed now, because those
    /// computations would not be paid for.
    fn settle(&self, value: Value) -> Result<Value, Error> {
        if value.kind() != ValueKind::Iterable {
            self.pay(weight(&value)?)?;
            return Ok(value);
        }
        let mut items = Vec::new();
        for item in value.try_iter()? {
            self.pay(weight(&item)?)?;
            items.push(item);
            if items.len() > HEAVIEST / PART {
                return Err(too_much());
            }
        }
        let value = Value::from(items);
        weight(&value)?;
        Ok(value)
    }
}

/// # Errors
/// If it is above [`HEAVIEST`].
fn weight(value: &Value) -> Result<usize, Error> {
    let mut total = 0;
    add_weight(value, 0, &mut total)?;
    Ok(total)
}

fn add_weight(value: &Value, depth: usize, total: &mut usize) -> Result<(), Error> {
    let text = value.as_str().map(str::len);
    *total += PART + text.or(value.as_bytes().map(<[u8]>::len)).unwrap_or(0);
    if *total > HEAVIEST || depth > DEEPEST {
        return Err(too_much());
    }
    let Some(object) = value.as_object() else {
        return Ok(());
    };
    // The content of a namespace may change after it was weighed.
    if depth > 0 && object.type_name().ends_with("::Namespace") {
        return Err(error("a namespace inside another value is not supported"));
    }
    match object.repr() {
        ObjectRepr::Map => {
            for (key, item) in object.try_iter_pairs().into_iter().flatten() {
                add_weight(&key, depth + 1, total)?;
                add_weight(&item, depth + 1, total)?;
            }
        }
        ObjectRepr::Seq | ObjectRepr::Iterable => {
            for item in object.try_iter().into_iter().flatten() {
                add_weight(&item, depth + 1, total)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Bounds the result of a function before it is computed.
type Bound = fn(&[Value]) -> usize;

/// For functions whose result is at most a few times as long as their input.
fn no_more(_: &[Value]) -> usize {
    0
}

fn text(values: &[Value], place: usize) -> &str {
    values.get(place).and_then(Value::as_str).unwrap_or("")
}

fn weighed(value: Option<&Value>) -> usize {
    value.map_or(0, |value| weight(value).unwrap_or(usize::MAX))
}

fn number(value: Option<&Value>) -> usize {
    match value.and_then(Value::as_i64) {
        Some(number) => usize::try_from(number).unwrap_or(0),
        // More than 64 bits.
        None if value.is_some_and(Value::is_number) => usize::MAX,
        None => 0,
    }
}

/// `text * number`, in either order, and the same for a list.
fn repeated(args: &[Value]) -> usize {
    let times = |value: usize, by: usize| {
        let value = args.get(value).filter(|value| !value.is_number());
        weighed(value).saturating_mul(number(args.get(by)))
    };
    times(0, 1).max(times(1, 0))
}

/// `text|replace(old, new)`.
fn replaced(args: &[Value]) -> usize {
    let count = text(args, 0).matches(text(args, 1)).count();
    count.saturating_mul(weighed(args.get(2)))
}

fn joint(items: Option<&Value>, between: &str) -> usize {
    let count = items.map_or(0, |items| match items.as_str() {
        Some(text) => text.chars().count(),
        None => weighed(Some(items)) / PART,
    });
    count.saturating_mul(between.len())
}

/// `items|join(text)`.
fn joined(args: &[Value]) -> usize {
    joint(args.first(), text(args, 1))
}

/// `text.join(items)`.
fn joining(args: &[Value]) -> usize {
    joint(args.get(1), text(args, 0))
}

/// Every number in an argument: a width, a precision or a count of spaces.
fn widths(args: &[Value]) -> usize {
    let named = |value: &Value| -> usize {
        let items = value.as_object().filter(|o| o.repr() == ObjectRepr::Map);
        let items = items.and_then(|object| object.try_iter_pairs());
        items
            .into_iter()
            .flatten()
            .map(|(_, item)| number(Some(&item)))
            .fold(0, usize::saturating_add)
    };
    let values = args.iter().skip(1);
    values
        .map(|value| number(Some(value)).saturating_add(named(value)))
        .fold(0, usize::saturating_add)
}

/// Indentation of every line, or of every part.
fn indented(args: &[Value]) -> usize {
    let lines = text(args, 0).matches('\n').count() + 1;
    let parts = weighed(args.first()) / PART;
    lines
        .max(parts.saturating_mul(DEEPEST))
        .saturating_mul(widths(args))
}

/// A format string: each number in it may be a width, each placeholder may stand for all arguments.
fn formatted(args: &[Value]) -> usize {
    let format = text(args, 0);
    let said = format
        .split(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty())
        .map(|digits| digits.parse().unwrap_or(usize::MAX))
        .fold(0, usize::saturating_add);
    // A width may come from an argument, as in '%*d'.
    let given = if format.contains(['*', '{']) {
        widths(args)
    } else {
        0
    };
    let signs = format.matches(['%', '{']).count();
    let others = args.iter().skip(1).map(|value| weighed(Some(value)));
    let others = others.fold(0, usize::saturating_add);
    signs
        .saturating_mul(others.saturating_add(given))
        .saturating_add(said)
}

/// An engine that renders one template within a budget.
pub(super) fn engine() -> Environment<'static> {
    let budget = Budget(Arc::new(AtomicUsize::new(BUDGET)));
    let mut engine = Environment::empty();
    engine.set_fuel(Some(FUEL));
    operators(&mut engine, &budget);
    for (name, filter, bound) in known_filters() {
        let budget = budget.clone();
        engine.add_filter(name, move |state: &mut State, args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            budget.pay_for(&args)?;
            budget.pay(bound(&args))?;
            budget.settle(filter.call(state, &args)?)
        });
    }
    for (name, test) in known_tests() {
        let budget = budget.clone();
        engine.add_test(name, move |state: &mut State, args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            budget.pay_for(&args)?;
            Ok::<_, Error>(test.call(state, &args)?.is_true())
        });
    }
    let range = Value::from_function(functions::range);
    let dict = Value::from_function(functions::dict);
    let namespace = Value::from_function(functions::namespace);
    for (name, function) in [("range", range), ("dict", dict), ("namespace", namespace)] {
        let budget = budget.clone();
        engine.add_function(name, move |state: &mut State, args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            budget.pay_for(&args)?;
            budget.settle(function.call(state, &args)?)
        });
    }
    let methods = budget.clone();
    engine.set_unknown_method_callback(move |state, value, method, args| {
        let all: Vec<Value> = [value].into_iter().chain(args).cloned().collect();
        methods.pay_for(&all)?;
        let bound: Bound = match method {
            "replace" => replaced,
            "join" => joining,
            "format" => formatted,
            _ => no_more,
        };
        methods.pay(bound(&all))?;
        methods.settle(unknown_method_callback(state, value, method, args)?)
    });
    engine.set_formatter(move |out, state, value| {
        budget.pay(weight(value)?)?;
        escape_formatter(out, state, value)
    });
    engine
}

/// The operators that replace a template's own; the engine computes them, on values that are paid for.
fn operators(engine: &mut Environment<'static>, budget: &Budget) {
    let known: [(&str, &str, Bound); 12] = [
        ("==", "a == b", no_more),
        ("!=", "a != b", no_more),
        ("<", "a < b", no_more),
        ("<=", "a <= b", no_more),
        (">", "a > b", no_more),
        (">=", "a >= b", no_more),
        ("+", "a + b", no_more),
        ("*", "a * b", repeated),
        (CONCAT, "a ~ b", no_more),
        (IN, "a in b", no_more),
        (ITEM, "a[b]", no_more),
        (SLICE, "a[b:c:d]", no_more),
    ];
    for (name, expression, bound) in known {
        let budget = budget.clone();
        engine.add_filter(name, move |state: &mut State, args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            budget.pay_for(&args)?;
            budget.pay(bound(&args))?;
            let arg = |place: usize| args.get(place).cloned().unwrap_or(Value::UNDEFINED);
            let values = context! { a => arg(0), b => arg(1), c => arg(2), d => arg(3) };
            let value = state.env().compile_expression(expression)?.eval(values)?;
            budget.settle(value)
        });
    }
    let paid = budget.clone();
    engine.add_filter(PAID, move |value: Value| paid.settle(value));
    let held = budget.clone();
    engine.add_filter(HELD, move |value: Value| {
        // Weighed as a part of its future holder, so that a namespace is refused.
        weight(&Value::from(vec![value.clone()]))?;
        held.settle(value)
    });
}

fn known_filters() -> Vec<(&'static str, Value, Bound)> {
    macro_rules! known {
        ($($name:literal $function:ident $bound:ident),* $(,)?) => {
            vec![$(($name, Value::from_function(filters::$function), $bound as Bound)),*]
        };
    }
    known![
        "abs" abs no_more,
        "attr" attr no_more,
        "bool" bool no_more,
        "capitalize" capitalize no_more,
        "count" length no_more,
        "d" default no_more,
        "default" default no_more,
        "dictsort" dictsort no_more,
        "e" escape no_more,
        "escape" escape no_more,
        "first" first no_more,
        "float" float no_more,
        "format" format formatted,
        "indent" indent indented,
        "int" int no_more,
        "items" items no_more,
        "join" join joined,
        "last" last no_more,
        "length" length no_more,
        "lines" lines no_more,
        "list" list no_more,
        "lower" lower no_more,
        "map" map no_more,
        "max" max no_more,
        "min" min no_more,
        "reject" reject no_more,
        "rejectattr" rejectattr no_more,
        "replace" replace replaced,
        "reverse" reverse no_more,
        "round" round no_more,
        "safe" safe no_more,
        "select" select no_more,
        "selectattr" selectattr no_more,
        "sort" sort no_more,
        "split" split no_more,
        "string" string no_more,
        "title" title no_more,
        "tojson" tojson indented,
        "trim" trim no_more,
        "unique" unique no_more,
        "upper" upper no_more,
    ]
}

fn known_tests() -> Vec<(&'static str, Value)> {
    macro_rules! known {
        ($($name:literal $function:ident),* $(,)?) => {
            vec![$(($name, Value::from_function(tests::$function))),*]
        };
    }
    known![
        "undefined" is_undefined,
        "defined" is_defined,
        "none" is_none,
        "safe" is_safe,
        "escaped" is_safe,
        "boolean" is_boolean,
        "odd" is_odd,
        "even" is_even,
        "divisibleby" is_divisibleby,
        "number" is_number,
        "integer" is_integer,
        "int" is_integer,
        "float" is_float,
        "string" is_string,
        "sequence" is_sequence,
        "iterable" is_iterable,
        "mapping" is_mapping,
        "startingwith" is_startingwith,
        "endingwith" is_endingwith,
        "lower" is_lower,
        "upper" is_upper,
        "sameas" is_sameas,
        "eq" is_eq,
        "equalto" is_eq,
        "==" is_eq,
        "ne" is_ne,
        "!=" is_ne,
        "lt" is_lt,
        "lessthan" is_lt,
        "<" is_lt,
        "le" is_le,
        "<=" is_le,
        "gt" is_gt,
        "greaterthan" is_gt,
        ">" is_gt,
        "ge" is_ge,
        ">=" is_ge,
        "in" is_in,
        "true" is_true,
        "false" is_false,
        "filter" is_filter,
        "test" is_test,
    ]
}
