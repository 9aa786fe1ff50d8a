// Reads a table of a structured file, and judges what is read: each value becomes one statement of the report.
import type { Conversion } from './conversion.ts'
import type { Reason } from './reasons.ts'
import { openStatement, type Statement } from './report.ts'
import type { Note } from './rule-draft.ts'
import { isRepeatedKey, type Node, type Scalar, type TableNode } from './structured-file.ts'

const secretKey =
  /(?<!by)pass(word|wd|phrase)?$|pwd$|secret|token|^auth$|credential|private_?key|group_?key|^key$|^psk$/i
const userInUrl = /(:\/\/|")[^\s"'@]{1,512}@/g

export interface Taken {
  readonly value: Scalar | readonly Scalar[]
  readonly statement: Statement
}

export class TableReader {
  readonly statement: Statement // of the table; has no row if no line is only about the table
  readonly #entries: Map<string, Node>
  readonly #file: string
  readonly #conversion: Conversion

  constructor(table: TableNode, file: string, conversion: Conversion) {
    this.#entries = new Map(table.entries)
    this.#file = file
    this.#conversion = conversion
    this.statement = table.text === '' ? openStatement(file, 1, '') : this.#registerTable(table)
  }

  has(key: string): boolean {
    return this.#entries.has(key)
  }

  /** Returns a value, or a list of values, and removes it; null if it is missing or of another form. */
  take(key: string): Taken | null {
    const node = this.#entries.get(key)
    if (!node) return null
    const value = plainValue(node)
    if (value === null) return null
    this.#entries.delete(key)
    return { value, statement: this.#registerValue(key, node) }
  }

  takeText(key: string): { readonly value: string; readonly statement: Statement } | null {
    const node = this.#entries.get(key)
    if (node?.kind !== 'scalar' || node.value === null) return null
    this.#entries.delete(key)
    return { value: String(node.value), statement: this.#registerValue(key, node) }
  }

  /** Returns a table, and removes it. */
  takeTable(key: string): TableReader | null {
    const node = this.#entries.get(key)
    if (node?.kind !== 'table') return null
    this.#entries.delete(key)
    return new TableReader(node, this.#file, this.#conversion)
  }

  /** Returns the tables of a list, and removes it. Other items are refused. */
  takeTables(key: string): TableReader[] {
    const node = this.#entries.get(key)
    if (node?.kind !== 'list') return []
    this.#entries.delete(key)
    return node.items.flatMap(item => {
      if (item.kind === 'table') return [new TableReader(item, this.#file, this.#conversion)]
      this.#register(item.text, item.line, 'none')
      return []
    })
  }

  /** Returns the values of a list, each as a statement of its own, and removes it. `mask` hides secrets in their texts. */
  takeItems(
    key: string,
    mask: (text: string) => string = text => text
  ): { readonly value: string; readonly statement: Statement }[] {
    const node = this.#entries.get(key)
    if (node?.kind !== 'list') return []
    this.#entries.delete(key)
    this.#conversion.verdicts.ignore(this.#register(`${key}: [ ... ]`, node.line, 'none'), 'structure')
    return node.items.flatMap(item => {
      const shown = mask(item.text)
      const statement = this.#register(shown, item.line, shown === item.text ? 'none' : 'left_out')
      return item.kind === 'scalar' && item.value !== null ? [{ value: String(item.value), statement }] : []
    })
  }

  /** Returns the tables by their names, and removes them. Other entries stay. */
  takeNamedTables(): (readonly [name: string, table: TableReader])[] {
    return [...this.#entries.keys()].flatMap(name => {
      const table = this.takeTable(name)
      return table ? [[name, table] as const] : []
    })
  }

  /** Ignores a value or everything below it. */
  ignore(key: string, reason: Reason): void {
    for (const statement of this.#takeAll(key)) this.#conversion.verdicts.ignore(statement, reason)
  }

  refuse(key: string, reason: Reason): void {
    for (const statement of this.#takeAll(key)) this.#conversion.verdicts.refuse(statement, reason)
  }

  /** Ignores everything below a key as a secret, whatever its names are. */
  hide(key: string): void {
    const node = this.#entries.get(key)
    if (!node) return
    this.#entries.delete(key)
    for (const statement of this.#registerSecrets(key, node))
      this.#conversion.verdicts.ignore(statement, 'secret')
  }

  /** Ignores the table and what was not read. */
  ignoreRest(reason: Reason): void {
    this.#conversion.verdicts.ignore(this.statement, reason)
    for (const key of [...this.#entries.keys()]) this.ignore(key, reason)
  }

  /** Names a difference, if the key is there. */
  approximate(key: string, reason: Reason): void {
    for (const statement of this.#takeAll(key)) this.#conversion.verdicts.approximate(statement, reason, null)
  }

  /** Takes values that are part of the rule without a field in it. */
  noteAll(keys: readonly string[], reason: Reason | null): Note[] {
    return keys.flatMap(key => [...this.#takeAll(key)].map(statement => ({ statement, field: '', reason })))
  }

  /** Judges what was not read: secrets are ignored, the rest is refused as unknown or for the reason. */
  finish(reason: Reason = 'unknown_statement'): void {
    for (const key of [...this.#entries.keys()])
      for (const statement of this.#takeAll(key)) {
        if (statement.hasSecret) this.#conversion.verdicts.ignore(statement, 'secret')
        else if (isRepeatedKey(key)) this.#conversion.verdicts.ignore(statement, 'not_used')
        else this.#conversion.verdicts.refuse(statement, reason)
      }
  }

  *#takeAll(key: string): Generator<Statement> {
    const node = this.#entries.get(key)
    if (!node) return
    this.#entries.delete(key)
    yield* this.#registerAll(key, node)
  }

  /** Registers each value below a node. */
  *#registerAll(key: string, node: Node): Generator<Statement> {
    if (secretKey.test(key)) yield* this.#registerSecrets(key, node)
    else if (plainValue(node) !== null) yield this.#registerValue(key, node)
    else if (node.kind === 'table') {
      if (node.text !== '') yield this.#registerTable(node)
      for (const [name, child] of node.entries) yield* this.#registerAll(name, child)
    } else if (node.kind === 'list') for (const item of node.items) yield* this.#registerAll('', item)
    else yield this.#register(node.text, node.line, 'none')
  }

  /** Shows the first line, without the values in it. */
  #registerTable({ text, line }: TableNode): Statement {
    const [first = ''] = text.split('\n', 1)
    const [head = ''] = first.split('{', 1)
    const [, key, value = ''] = /^\W{0,4}([\w.-]{1,100})["']?\s*[:=]\s*(.*)$/s.exec(head) ?? []
    const isSecret = key !== undefined && secretKey.test(key) && value !== ''
    const shown = first.includes('{') ? `${head}{ ... }` : first
    return this.#register(isSecret ? `${key} = ***` : shown, line, isSecret ? 'left_out' : 'none')
  }

  /** Registers a secret, and everything below it, without the values. */
  *#registerSecrets(key: string, node: Node): Generator<Statement> {
    if (node.text !== '') yield this.#register(`${key} = ***`, node.line, 'left_out')
    if (node.kind === 'table')
      for (const [name, child] of node.entries) yield* this.#registerSecrets(name, child)
    if (node.kind === 'list') for (const item of node.items) yield* this.#registerSecrets(key, item)
  }

  #registerValue(key: string, node: Node): Statement {
    return secretKey.test(key)
      ? this.#register(`${key} = ***`, node.line, 'left_out')
      : this.#register(node.text, node.line, 'none')
  }

  #register(text: string, line: number, secret: 'none' | 'left_out'): Statement {
    const first = text.includes('\n') ? (text.split('\n', 1)[0] ?? '') : text
    const shown = first.replaceAll(userInUrl, '$1***@')
    return this.#conversion.statement(this.#file, line, shown, shown === first ? secret : 'left_out')
  }
}

/** Returns a scalar, or a list of scalars; null for other nodes and for nothing. */
function plainValue(node: Node): Scalar | readonly Scalar[] | null {
  if (node.kind === 'scalar') return node.value
  if (node.kind === 'table') return null
  const values = node.items.flatMap(item => (item.kind === 'scalar' ? [item.value] : []))
  return values.length === node.items.length ? values : null
}
