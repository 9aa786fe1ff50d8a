// Parses TOML, YAML and JSON into nodes that know their line and their text in the file.
import { type AST, ParseError, parseTOML } from 'toml-eslint-parser'
import {
  type Alias,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  parseDocument,
  type Node as YamlNode
} from 'yaml'
import { invalidFile, type SourceFile } from './source-file.ts'

export type Scalar = string | number | boolean | null

interface Place {
  readonly line: number // counts from 1
  readonly text: string // as it stands in the file, with the key; '' for a table that only the keys of others name
}

export interface ScalarNode extends Place {
  readonly kind: 'scalar'
  readonly value: Scalar
}

interface ListNode extends Place {
  readonly kind: 'list'
  readonly items: Node[]
}

export interface TableNode extends Place {
  readonly kind: 'table'
  readonly entries: Map<string, Node>
}

export type Node = ScalarNode | ListNode | TableNode

const maxNodes = 300_000
const maxDepth = 32

/** Parses JSON and YAML if the text looks like it, else TOML. Throws `import_invalid` with the line. */
export function parseStructured(file: SourceFile, language: 'toml' | 'yaml'): TableNode {
  const isJson = file.text.trimStart().startsWith('{') // TOML never begins so
  try {
    const root = language === 'toml' && !isJson ? parseToml(file) : parseYaml(file)
    if (root.kind === 'table') return root
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    throw invalidFile(file.name, 1, 'it is nested too deeply', cause) // the stack of the parser
  }
  throw invalidFile(file.name, 1, 'it must be a table of keys and values')
}

/** Counts nodes, so that aliases cannot multiply them, and limits the depth. */
class Budget {
  readonly #file: string
  #rest = maxNodes

  constructor(file: string) {
    this.#file = file
  }

  take(line: number, depth: number): void {
    this.#rest -= 1
    if (this.#rest < 0) throw invalidFile(this.#file, line, `it has more than ${maxNodes} values; split it`)
    if (depth > maxDepth) throw invalidFile(this.#file, line, `it is nested more than ${maxDepth} deep`)
  }
}

function parseToml({ name, text }: SourceFile): Node {
  const budget = new Budget(name)
  const program = readToml(name, text)
  const root = openTable(1, '')
  for (const part of program.body[0].body) {
    if (part.type === 'TOMLKeyValue') addToml(root, part, text, budget, 1)
    else fillTomlTable(root, part, text, budget)
  }
  return root
}

function readToml(name: string, text: string): AST.TOMLProgram {
  try {
    return parseTOML(text)
  } catch (cause) {
    if (cause instanceof ParseError) throw invalidFile(name, cause.lineNumber, 'it is not valid TOML', cause)
    throw cause
  }
}

/** Returns the key of a value that a later one of the same name replaces. */
export const repeatedKey = (name: string, line: number): string => `repeated ${line} ${name}`

export const isRepeatedKey = (key: string): boolean => /^repeated \d+ /.test(key)

export const openTable = (line: number, text: string): TableNode => ({
  kind: 'table',
  line,
  text,
  entries: new Map()
})

const openList = (line: number, text: string): ListNode => ({ kind: 'list', line, text, items: [] })

/** Adds `[a.b]` or an item of `[[a.b]]`. The parser has checked that the parts of the key fit. */
function fillTomlTable(root: TableNode, part: AST.TOMLTable, text: string, budget: Budget): void {
  const line = part.loc.start.line
  const header = text.slice(part.range[0], text.indexOf('\n', part.range[0]) + 1 || undefined)
  let table = root
  const path = part.resolvedKey
  for (const [at, key] of path.entries()) {
    budget.take(line, at)
    if (typeof key === 'number') continue // the list was handled with its name
    const next = path[at + 1]
    const found = table.entries.get(key)
    if (typeof next === 'number') {
      const list = found?.kind === 'list' ? found : openList(line, header)
      const item = list.items[next] ?? openTable(line, header)
      if (list.items.length === next) list.items.push(item)
      table.entries.set(key, list)
      if (item.kind === 'table') table = item
    } else {
      const known = found?.kind === 'table' ? found : openTable(line, '')
      const child = next === undefined ? { ...known, line, text: header } : known
      table.entries.set(key, child)
      table = child
    }
  }
  for (const pair of part.body) addToml(table, pair, text, budget, path.length + 1)
}

function addToml(into: TableNode, pair: AST.TOMLKeyValue, text: string, budget: Budget, depth: number): void {
  const line = pair.loc.start.line
  const source = text.slice(pair.range[0], pair.range[1])
  const keys = pair.key.keys.map(key => (key.type === 'TOMLBare' ? key.name : key.value))
  let table = into
  for (const key of keys.slice(0, -1)) {
    const found = table.entries.get(key)
    const child = found?.kind === 'table' ? found : openTable(line, '')
    table.entries.set(key, child)
    table = child
  }
  table.entries.set(
    keys.at(-1) ?? '',
    fromToml(pair.value, { line, text: source }, text, budget, depth + keys.length)
  )
}

function fromToml(
  node: AST.TOMLContentNode,
  place: Place,
  text: string,
  budget: Budget,
  depth: number
): Node {
  budget.take(place.line, depth)
  if (node.type === 'TOMLArray') {
    const items = node.elements.map(item => {
      const own = { line: item.loc.start.line, text: text.slice(item.range[0], item.range[1]) }
      return fromToml(item, own, text, budget, depth + 1)
    })
    return { ...place, kind: 'list', items }
  }
  if (node.type === 'TOMLInlineTable') {
    const table = openTable(place.line, place.text)
    for (const pair of node.body) addToml(table, pair, text, budget, depth + 1)
    return table
  }
  const { value } = node
  return { ...place, kind: 'scalar', value: value instanceof Date ? node.parent.type : value }
}

function parseYaml({ name, text }: SourceFile): Node {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, merge: true })
  const [error] = document.errors
  if (error) {
    const why = error.code.toLowerCase().replaceAll('_', ' ') // the message can have text of the file
    throw invalidFile(name, lines.linePos(error.pos[0]).line, `it is not valid YAML or JSON: ${why}`, error)
  }
  const budget = new Budget(name)
  const lineAt = (offset: number): number => Math.max(1, lines.linePos(offset).line)

  const convert = (given: unknown, place: Place, depth: number): Node => {
    budget.take(place.line, depth)
    const node = isAlias(given) ? resolveAlias(given) : given
    if (isMap(node)) {
      const table = openTable(place.line, place.text)
      for (const pair of node.items) addPair(table, pair, place, depth)
      return table
    }
    if (isSeq(node)) {
      const items = node.items.map(item => convert(item, itemPlace(item, place), depth + 1))
      return { ...place, kind: 'list', items }
    }
    return { ...place, kind: 'scalar', value: isScalar(node) ? toScalar(node.value) : null }
  }

  const resolved = new Map<Alias, unknown>() // a look-up visits the whole document
  const resolveAlias = (alias: Alias): unknown => {
    if (!resolved.has(alias)) resolved.set(alias, alias.resolve(document))
    return resolved.get(alias)
  }

  const placeOf = (node: unknown, around: Place): Place => {
    const range = (node as Partial<YamlNode> | null)?.range
    return range ? { line: lineAt(range[0]), text: text.slice(range[0], range[1]) } : around
  }

  const itemPlace = (node: unknown, around: Place): Place => {
    const { line, text: own } = placeOf(node, around)
    return { line, text: isMap(node) && node.flow !== true ? `- ${own}` : own }
  }

  const addPair = (table: TableNode, pair: Pair<unknown, unknown>, around: Place, depth: number): void => {
    if (!isPair(pair)) return
    const key = isScalar(pair.key) ? String(pair.key.value) : 'a key that is not text'
    const start = placeOf(pair.key, around)
    const end = (pair.value as Partial<YamlNode> | null)?.range?.[1]
    const from = (pair.key as Partial<YamlNode> | null)?.range?.[0]
    const source = from === undefined || end === undefined ? start.text : text.slice(from, end)
    table.entries.set(key, convert(pair.value, { line: start.line, text: source }, depth + 1))
  }

  return convert(document.contents, { line: 1, text: '' }, 0)
}

const toScalar = (value: unknown): Scalar =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null
