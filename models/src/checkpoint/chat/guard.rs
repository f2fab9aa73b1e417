//! Replaces the dangerous parts of a template with calls that a budget bounds.
//!
//! The engine's fuel counts instructions, and one instruction may take any time and memory: a string times a number, a
//! list that holds itself twice. Such operators become filters here, under names that no template can write, and
//! [`super::budget`] determines their cost. Operators between constants are treated the same way, because the engine
//! computes those when it compiles.

use minijinja::Value;
use minijinja::machinery::ast::{
    AutoEscape, BinOp, BinOpKind, Call, CallArg, CallBlock, Compare, CompareOpKind, Const, Do,
    EmitExpr, Expr, Filter, FilterBlock, ForLoop, GetAttr, IfCond, IfExpr, List, Macro, Map, Set,
    SetBlock, Spanned, Stmt, Template, Test, Tuple, UnaryOp, UnaryOpKind, Var, WithBlock,
};
use minijinja::machinery::{Span, Token, tokenize};
use minijinja::syntax::SyntaxConfig;

use super::budget::{CONCAT, HELD, IN, ITEM, PAID, SLICE};

/// Most bytes in a template; those of real models have up to 30,000.
const LONGEST: usize = 128 << 10;
/// Most tokens in one tag: expressions cannot nest deeper than their number of tokens.
const TAG: usize = 2_000;
/// Most `elif` branches, each of which is parsed inside the one before it.
const BRANCHES: usize = 500;

/// # Errors
/// If a template is longer or nests deeper than the engine's parser can handle.
pub(super) fn check(template: &str, syntax: &SyntaxConfig) -> Result<(), String> {
    if template.len() > LONGEST {
        return Err(format!(
            "it has {} bytes, at most {LONGEST} are read",
            template.len()
        ));
    }
    let (mut tag, mut branches) = (0, 0);
    for token in tokenize(template, false, syntax.clone()) {
        let (token, span) = token.map_err(|e| e.to_string())?;
        match token {
            Token::TemplateData(_) | Token::VariableStart | Token::BlockStart => tag = 0,
            Token::Ident("elif") => branches += 1,
            _ => tag += 1,
        }
        if tag > TAG {
            return Err(format!(
                "the tag in line {} has more than {TAG} parts",
                span.start_line
            ));
        }
        if branches > BRANCHES {
            return Err(format!("it has more than {BRANCHES} branches 'elif'"));
        }
    }
    Ok(())
}

/// The statement with every operator of unbounded cost replaced.
///
/// # Errors
/// If it contains something that cannot be bounded and that no chat template needs.
pub(super) fn statement<'a>(stmt: &Stmt<'a>) -> Result<Stmt<'a>, String> {
    Ok(match stmt {
        Stmt::Template(s) => Stmt::Template(Spanned::new(
            Template {
                children: body(&s.children)?,
            },
            s.span(),
        )),
        Stmt::EmitExpr(s) => Stmt::EmitExpr(Spanned::new(
            EmitExpr {
                expr: expression(&s.expr)?,
            },
            s.span(),
        )),
        // As an expression it is written by the formatter, which counts.
        Stmt::EmitRaw(s) => Stmt::EmitExpr(Spanned::new(
            EmitExpr {
                expr: Expr::Const(Spanned::new(
                    Const {
                        value: Value::from_safe_string(s.raw.to_owned()),
                    },
                    s.span(),
                )),
            },
            s.span(),
        )),
        Stmt::ForLoop(s) => Stmt::ForLoop(Spanned::new(
            ForLoop {
                target: target(&s.target)?,
                iter: filtered(PAID, expression(&s.iter)?, vec![], s.span()),
                filter_expr: optional(s.filter_expr.as_ref())?,
                recursive: s.recursive,
                body: body(&s.body)?,
                else_body: body(&s.else_body)?,
            },
            s.span(),
        )),
        Stmt::IfCond(s) => Stmt::IfCond(Spanned::new(
            IfCond {
                expr: expression(&s.expr)?,
                true_body: body(&s.true_body)?,
                false_body: body(&s.false_body)?,
            },
            s.span(),
        )),
        Stmt::WithBlock(s) => Stmt::WithBlock(Spanned::new(
            WithBlock {
                assignments: s
                    .assignments
                    .iter()
                    .map(|(to, value)| Ok((target(to)?, assigned(to, value)?)))
                    .collect::<Result<_, String>>()?,
                body: body(&s.body)?,
            },
            s.span(),
        )),
        Stmt::Set(s) => Stmt::Set(Spanned::new(
            Set {
                target: target(&s.target)?,
                expr: assigned(&s.target, &s.expr)?,
            },
            s.span(),
        )),
        Stmt::SetBlock(s) => Stmt::SetBlock(Spanned::new(
            SetBlock {
                target: target(&s.target)?,
                filter: optional(s.filter.as_ref())?,
                body: body(&s.body)?,
            },
            s.span(),
        )),
        Stmt::AutoEscape(s) => Stmt::AutoEscape(Spanned::new(
            AutoEscape {
                enabled: expression(&s.enabled)?,
                body: body(&s.body)?,
            },
            s.span(),
        )),
        Stmt::FilterBlock(s) => Stmt::FilterBlock(Spanned::new(
            FilterBlock {
                filter: expression(&s.filter)?,
                body: body(&s.body)?,
            },
            s.span(),
        )),
        Stmt::Block(_)
        | Stmt::Import(_)
        | Stmt::FromImport(_)
        | Stmt::Extends(_)
        | Stmt::Include(_) => {
            return Err("it asks for other templates, and there are none".to_owned());
        }
        Stmt::Macro(s) => Stmt::Macro(declaration(s)?),
        Stmt::CallBlock(s) => Stmt::CallBlock(Spanned::new(
            CallBlock {
                call: call(&s.call)?,
                macro_decl: declaration(&s.macro_decl)?,
            },
            s.span(),
        )),
        Stmt::Continue(s) => {
            Stmt::Continue(Spanned::new(minijinja::machinery::ast::Continue, s.span()))
        }
        Stmt::Break(s) => Stmt::Break(Spanned::new(minijinja::machinery::ast::Break, s.span())),
        Stmt::Do(s) => Stmt::Do(Spanned::new(
            Do {
                call: call(&s.call)?,
            },
            s.span(),
        )),
    })
}

fn body<'a>(stmts: &[Stmt<'a>]) -> Result<Vec<Stmt<'a>>, String> {
    stmts.iter().map(statement).collect()
}

fn declaration<'a>(s: &Spanned<Macro<'a>>) -> Result<Spanned<Macro<'a>>, String> {
    let declared = Macro {
        name: s.name,
        args: s.args.iter().map(target).collect::<Result<_, _>>()?,
        defaults: s
            .defaults
            .iter()
            .map(expression)
            .collect::<Result<_, _>>()?,
        body: body(&s.body)?,
    };
    Ok(Spanned::new(declared, s.span()))
}

/// The value that a name, several names or a namespace's attribute is set to. A namespace accepts no other namespace,
/// or it could hold itself; unpacking a list reads all of it.
fn assigned<'a>(to: &Expr<'a>, value: &Expr<'a>) -> Result<Expr<'a>, String> {
    let value = expression(value)?;
    Ok(match to {
        Expr::Var(_) => value,
        _ => filtered(HELD, value, vec![], to.span()),
    })
}

/// The target of an assignment; nothing is computed there.
fn target<'a>(expr: &Expr<'a>) -> Result<Expr<'a>, String> {
    Ok(match expr {
        Expr::Var(s) => Expr::Var(Spanned::new(Var { id: s.id }, s.span())),
        Expr::List(s) => Expr::List(Spanned::new(
            List {
                items: s.items.iter().map(target).collect::<Result<_, _>>()?,
            },
            s.span(),
        )),
        Expr::GetAttr(s) => Expr::GetAttr(Spanned::new(
            GetAttr {
                expr: target(&s.expr)?,
                name: s.name,
            },
            s.span(),
        )),
        other => return Err(format!("a value is assigned to a {}", other.description())),
    })
}

fn optional<'a>(expr: Option<&Expr<'a>>) -> Result<Option<Expr<'a>>, String> {
    expr.map(expression).transpose()
}

/// The filter `name`, one of this crate's own, applied to `value`.
fn filtered<'a>(
    name: &'static str,
    value: Expr<'a>,
    others: Vec<Expr<'a>>,
    span: Span,
) -> Expr<'a> {
    let filter = Filter {
        name,
        expr: Some(value),
        args: others.into_iter().map(CallArg::Pos).collect(),
    };
    Expr::Filter(Spanned::new(filter, span))
}

fn expression<'a>(expr: &Expr<'a>) -> Result<Expr<'a>, String> {
    let own = |name, value: &Expr<'a>, other: &Expr<'a>| -> Result<Expr<'a>, String> {
        let others = vec![expression(other)?];
        Ok(filtered(name, expression(value)?, others, expr.span()))
    };
    let constant = || {
        Expr::Const(Spanned::new(
            Const {
                value: Value::from(()),
            },
            expr.span(),
        ))
    };
    Ok(match expr {
        Expr::Var(_) => target(expr)?,
        Expr::Const(s) => Expr::Const(Spanned::new(
            Const {
                value: s.value.clone(),
            },
            s.span(),
        )),
        Expr::Slice(s) => {
            let parts = [&s.start, &s.stop, &s.step].into_iter().map(|part| {
                let part = optional(part.as_ref())?;
                Ok(part.unwrap_or_else(constant))
            });
            let parts = parts.collect::<Result<_, String>>()?;
            filtered(SLICE, expression(&s.expr)?, parts, s.span())
        }
        Expr::UnaryOp(s) => Expr::UnaryOp(Spanned::new(
            UnaryOp {
                op: match s.op {
                    UnaryOpKind::Not => UnaryOpKind::Not,
                    UnaryOpKind::Neg => UnaryOpKind::Neg,
                },
                expr: expression(&s.expr)?,
            },
            s.span(),
        )),
        Expr::BinOp(s) => match operator(s.op) {
            Some(name) => own(name, &s.left, &s.right)?,
            None => Expr::BinOp(Spanned::new(
                BinOp {
                    op: s.op,
                    left: expression(&s.left)?,
                    right: expression(&s.right)?,
                },
                s.span(),
            )),
        },
        Expr::Compare(s) => compared(s)?,
        Expr::IfExpr(s) => Expr::IfExpr(Spanned::new(
            IfExpr {
                test_expr: expression(&s.test_expr)?,
                true_expr: expression(&s.true_expr)?,
                false_expr: optional(s.false_expr.as_ref())?,
            },
            s.span(),
        )),
        Expr::Filter(s) => Expr::Filter(Spanned::new(
            Filter {
                name: s.name,
                expr: optional(s.expr.as_ref())?,
                args: arguments(&s.args)?,
            },
            s.span(),
        )),
        Expr::Test(s) => Expr::Test(Spanned::new(
            Test {
                name: s.name,
                expr: expression(&s.expr)?,
                args: arguments(&s.args)?,
            },
            s.span(),
        )),
        Expr::GetAttr(s) => Expr::GetAttr(Spanned::new(
            GetAttr {
                expr: expression(&s.expr)?,
                name: s.name,
            },
            s.span(),
        )),
        Expr::GetItem(s) => own(ITEM, &s.expr, &s.subscript_expr)?,
        Expr::Call(s) => Expr::Call(call(s)?),
        Expr::List(s) => {
            let items = s.items.iter().map(expression).collect::<Result<_, _>>()?;
            let list = Expr::List(Spanned::new(List { items }, s.span()));
            filtered(PAID, list, vec![], s.span())
        }
        Expr::Tuple(s) => {
            let items = s.items.iter().map(expression).collect::<Result<_, _>>()?;
            let tuple = Expr::Tuple(Spanned::new(Tuple { items }, s.span()));
            filtered(PAID, tuple, vec![], s.span())
        }
        Expr::Map(s) => {
            let map = Map {
                keys: s.keys.iter().map(expression).collect::<Result<_, _>>()?,
                values: s.values.iter().map(expression).collect::<Result<_, _>>()?,
            };
            let map = Expr::Map(Spanned::new(map, s.span()));
            filtered(PAID, map, vec![], s.span())
        }
    })
}

/// The filter that replaces an operator; `None` if its cost is already bounded.
fn operator(op: BinOpKind) -> Option<&'static str> {
    Some(match op {
        BinOpKind::Eq => "==",
        BinOpKind::Ne => "!=",
        BinOpKind::Lt => "<",
        BinOpKind::Lte => "<=",
        BinOpKind::Gt => ">",
        BinOpKind::Gte => ">=",
        BinOpKind::Add => "+",
        BinOpKind::Mul => "*",
        BinOpKind::Concat => CONCAT,
        BinOpKind::In => IN,
        // For numbers only.
        BinOpKind::Sub
        | BinOpKind::Div
        | BinOpKind::FloorDiv
        | BinOpKind::Rem
        | BinOpKind::Pow
        | BinOpKind::ScAnd
        | BinOpKind::ScOr => return None,
    })
}

fn compared<'a>(s: &Spanned<Compare<'a>>) -> Result<Expr<'a>, String> {
    let [only] = &s.ops[..] else {
        return Err("comparisons in a row, as in a < b < c, are not supported".to_owned());
    };
    let (name, negated) = match only.op {
        CompareOpKind::Eq => ("==", false),
        CompareOpKind::Ne => ("!=", false),
        CompareOpKind::Lt => ("<", false),
        CompareOpKind::Lte => ("<=", false),
        CompareOpKind::Gt => (">", false),
        CompareOpKind::Gte => (">=", false),
        CompareOpKind::In => (IN, false),
        CompareOpKind::NotIn => (IN, true),
    };
    let others = vec![expression(&only.expr)?];
    let found = filtered(name, expression(&s.expr)?, others, s.span());
    Ok(if negated {
        let not = UnaryOp {
            op: UnaryOpKind::Not,
            expr: found,
        };
        Expr::UnaryOp(Spanned::new(not, s.span()))
    } else {
        found
    })
}

fn call<'a>(s: &Spanned<Call<'a>>) -> Result<Spanned<Call<'a>>, String> {
    let mut args = arguments(&s.args)?;
    match &s.expr {
        // It stores values and compares them where nothing can count.
        Expr::GetAttr(method) if method.name == "changed" => {
            return Err("the method 'changed' is not supported".to_owned());
        }
        // A loop that calls itself iterates over its argument.
        Expr::Var(name) if name.id == "loop" => {
            let paid = |arg| match arg {
                CallArg::Pos(value) => CallArg::Pos(filtered(PAID, value, vec![], s.span())),
                other => other,
            };
            args = args.into_iter().map(paid).collect();
        }
        _ => {}
    }
    let called = Call {
        expr: expression(&s.expr)?,
        args,
    };
    Ok(Spanned::new(called, s.span()))
}

fn arguments<'a>(args: &[CallArg<'a>]) -> Result<Vec<CallArg<'a>>, String> {
    args.iter()
        .map(|arg| {
            Ok(match arg {
                CallArg::Pos(value) => CallArg::Pos(expression(value)?),
                CallArg::Kwarg(name, value) => CallArg::Kwarg(name, expression(value)?),
                CallArg::PosSplat(_) | CallArg::KwargSplat(_) => {
                    return Err("arguments by * and ** are not supported".to_owned());
                }
            })
        })
        .collect()
}
