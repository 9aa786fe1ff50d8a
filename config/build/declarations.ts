// Reads the exports of a module and their declarations as written. The sources are formatted: every declaration starts at
// the left margin.
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export interface Declaration {
  readonly file: string
  readonly name: string
  readonly comment: string // without comment markers; '' for none
  readonly code: string // without `export` and function bodies
}

/** An export of a module: a declaration, a name of a package, or the exports of another module under one name. */
export type Exported =
  | { readonly as: string; readonly of: Declaration }
  | { readonly as: string; readonly from: string }
  | { readonly as: string; readonly members: readonly Exported[] }

interface Place {
  readonly file: string // a path, or the name of a package
  readonly name: string
}

interface Module {
  readonly declared: ReadonlyMap<string, Declaration>
  readonly imported: ReadonlyMap<string, Place>
  readonly exported: readonly (Place & { readonly as: string })[] // name '*': all exports of the file
}

const modules = new Map<string, Module>()

function moduleAt(file: string): Module {
  const known = modules.get(file)
  if (known) return known
  const text = readFileSync(file, 'utf8')
  const imported = new Map<string, Place>()
  const exported: (Place & { readonly as: string })[] = []
  const fileOf = (specifier: string): string =>
    specifier.startsWith('.') ? join(dirname(file), specifier) : specifier
  for (const [, names = '', specifier = ''] of text.matchAll(
    /^import (?:type )?\{([^}]*)\} from '([^']+)'/gm
  ))
    for (const { name, as } of namesIn(names)) imported.set(as, { file: fileOf(specifier), name })
  for (const [, names = '', specifier = ''] of text.matchAll(
    /^export (?:type )?\{([^}]*)\} from '([^']+)'/gm
  ))
    for (const { name, as } of namesIn(names)) exported.push({ file: fileOf(specifier), name, as })
  for (const [, as = '', specifier = ''] of text.matchAll(
    /^export (?:type )?\*(?: as (\w+))? from '([^']+)'/gm
  ))
    exported.push({ file: fileOf(specifier), name: '*', as })
  const declared = declarationsIn(file, text.split('\n'))
  const found = { declared, imported, exported }
  modules.set(file, found)
  return found
}

const namesIn = (list: string): { readonly name: string; readonly as: string }[] =>
  [...list.matchAll(/(?:type )?(\w+)(?: as (\w+))?/g)].map(([, name = '', as = name]) => ({ name, as }))

const start = /^(?:export )?(?:default )?(?:async )?(?:abstract )?(interface|type|const|function|class) (\w+)/

function declarationsIn(file: string, lines: readonly string[]): Map<string, Declaration> {
  const found = new Map<string, Declaration>()
  for (const [at, line] of lines.entries()) {
    const [, kind = '', name] = start.exec(line) ?? []
    if (name === undefined) continue
    const rest = lines.slice(at + 1).findIndex(next => /^[^\s})\]|]/.test(next))
    const whole = lines
      .slice(at, rest < 0 ? lines.length : at + 1 + rest)
      .join('\n')
      .trimEnd()
    const before = lines.slice(0, at)
    const comment = before.slice(before.findLastIndex(previous => !/^(\/\/|\/\*\*| \*)/.test(previous)) + 1)
    const code = withoutBody(kind, whole.replace(/^export (default )?/, ''))
    const value = found.get(name) // a schema or an entity, and its type under the same name
    found.set(name, {
      file,
      name,
      comment: [value?.comment ?? '', textOf(comment)].filter(text => text !== '').join('\n'),
      code: value ? `${value.code}\n\n${code}` : code
    })
  }
  return found
}

const textOf = (comment: readonly string[]): string =>
  comment
    .map(text => text.replace(/^(\/\*\*| \*\/| \*|\/\/) ?/, '').replace(/ ?\*\/$/, ''))
    .join('\n')
    .trim()

/** Removes function bodies. */
function withoutBody(kind: string, code: string): string {
  if (kind === 'function') return code.split(/ \{$/m, 1)[0] ?? code
  if (kind === 'class') return withoutMethodBodies(code.split('\n')).join('\n')
  if (kind !== 'const') return code
  const value = code.slice(code.indexOf(' = ') + 3)
  if (!/^(async )?[(<]/.test(value)) return code
  let depth = 0
  for (let at = code.length - value.length; at < code.length; at += 1) {
    const letter = code[at] ?? ''
    if ('([{'.includes(letter)) depth += 1
    if (')]}'.includes(letter)) depth -= 1
    if (depth === 0 && code.startsWith('=>', at)) return code.slice(0, at).trimEnd()
  }
  return code
}

/** Returns the lines of a class without private members. */
function withoutMethodBodies(lines: readonly string[]): string[] {
  const kept: string[] = []
  let isInBody = false
  for (const line of lines) {
    const opens = /^ {2}\S.*\{$/.test(line)
    if (!(isInBody || /^ {2}(?:readonly )?#/.test(line)))
      kept.push(line.replace(/( =>)? \(?\{$/, opens ? '' : '$&'))
    if (opens) isInBody = true
    if (/^ {2}\}/.test(line)) isInBody = false
  }
  return kept.filter((line, at) => line !== '' || kept[at - 1] !== '')
}

/** Returns the declaration of a name that a module imports, declares or re-exports; a package name; or null. */
export function resolveName({ file, name }: Place): Declaration | string | null {
  if (!file.startsWith('/')) return file
  const { declared, imported, exported } = moduleAt(file)
  const here = declared.get(name)
  if (here) return here
  const place = imported.get(name) ?? exported.find(({ as }) => as === name)
  if (place) return resolveName(place)
  const all = exported.filter(one => one.name === '*' && one.as === '')
  return all.map(one => resolveName({ file: one.file, name })).find(found => found !== null) ?? null
}

/** Returns the exports of a module in source order. */
export function exportsOf(file: string): Exported[] {
  const { exported, declared } = moduleAt(file)
  const text = readFileSync(file, 'utf8')
  const passed = exported.flatMap(({ file: from, name, as }): Exported[] => {
    if (name === '*') return as === '' ? exportsOf(from) : [{ as, members: exportsOf(from) }]
    const of = resolveName({ file: from, name })
    if (of === null) throw new Error(`${file}: ${from} has no ${name}`)
    return [typeof of === 'string' ? { as, from: of } : { as, of }]
  })
  const own = [...declared.values()].filter(({ name }) =>
    new RegExp(`^export (?:async )?(?:interface|type|const|function|class) ${name}\\b`, 'm').test(text)
  )
  return [...passed, ...own.map(of => ({ as: of.name, of }))]
}
