// Go templates in configurations of frp. Each action is replaced by a number, so that the file can be parsed; then the
// values and the texts are put back. So a value from the environment never reaches the parser or the report.
import type { Conversion } from './conversion.ts'
import type { Statement } from './report.ts'
import { type Environment, invalidFile, type SourceFile } from './source-file.ts'
import type { Node, Scalar, ScalarNode, TableNode } from './structured-file.ts'

/** Consecutive numbers of both lists of a range: `first + n` and `second + n` for n below `size`. */
export interface Span {
  readonly first: number
  readonly second: number
  readonly index: number // of the first pair
  readonly size: number
}

export interface NumberRange {
  readonly spans: readonly Span[]
  readonly statements: readonly Statement[] // that only open the range
}

export interface TemplateFile {
  readonly root: TableNode
  readonly ranges: NumberRange[] // a value names one as `{{range 0 first}}`
}

/** Stands for a value that is known only at run time. */
export const unknownValue = '{{unknown}}'

interface Action {
  readonly text: string // as it stands in the file
  readonly value: string
}

interface RangeBlock {
  readonly id: number
  readonly value: string // the name of its variable, '' for the dot
  readonly index: string
  readonly isPair: boolean
}

/** An open block; null: whether its lines count is decided when the source starts. */
type Block = { readonly line: number; readonly range: RangeBlock | null }

interface Context {
  readonly environment: Environment
  readonly conversion: Conversion
}

const maxActions = 100_000

/** Throws `import_invalid` with the line. Lines that depend on a condition are refused, and not parsed. */
export function parseTemplate(
  file: SourceFile,
  parse: (file: SourceFile) => TableNode,
  context: Context
): TemplateFile {
  if (!file.text.includes('{{')) return { root: parse(file), ranges: [] }
  const reader = new TemplateReader(file, context)
  const root = parse({ ...file, text: reader.text })
  return { root: restoreTable(root, reader.actions, reader.prefix), ranges: reader.ranges }
}

class TemplateReader {
  readonly actions: Action[] = []
  readonly ranges: NumberRange[] = []
  readonly prefix: string // of the number for an action; the text of the file does not have it
  readonly text: string // with numbers for actions, and the lines of the file
  readonly #file: SourceFile
  readonly #context: Context
  readonly #blocks: Block[] = []
  #line = 1

  constructor(file: SourceFile, context: Context) {
    this.#file = file
    this.#context = context
    this.prefix = freePrefix(file)
    this.text = this.#read(file.text)
  }

  #read(text: string): string {
    const parts: string[] = []
    for (let at = 0; at < text.length; ) {
      const start = text.indexOf('{{', at)
      if (start < 0) {
        parts.push(this.#plain(text.slice(at)))
        break
      }
      parts.push(this.#plain(text.slice(at, start)))
      const end = text.indexOf('}}', start)
      if (end < 0) throw invalidFile(this.#file.name, this.#line, 'a template is not closed with }}')
      const source = text.slice(start, end + 2)
      parts.push(this.#act(source), '\n'.repeat(linesIn(source)))
      this.#line += linesIn(source)
      at = end + 2
    }
    const open = this.#blocks.at(-1)
    if (open)
      throw invalidFile(this.#file.name, open.line, 'a block of the template is not closed with {{ end }}')
    return parts.join('')
  }

  /** Returns the text, or only its line ends if a condition decides about it. */
  #plain(text: string): string {
    const isUnknown = this.#blocks.some(({ range }) => range === null)
    const lines = text.split('\n')
    for (const [at, line] of isUnknown ? lines.entries() : [])
      if (line.trim() !== '' && !line.trimStart().startsWith('#'))
        this.#refuse(line.replace(/[=:].*$/s, '= ***'), this.#line + at)
    this.#line += lines.length - 1
    return isUnknown ? '\n'.repeat(lines.length - 1) : text
  }

  #refuse(text: string, line: number): void {
    const { conversion } = this.#context
    conversion.verdicts.refuse(conversion.statement(this.#file.name, line, text), 'conditional')
  }

  /** Returns what stands for an action: nothing for a comment and for the borders of a block. */
  #act(source: string): string {
    const action = source.slice(source.startsWith('{{-') ? 3 : 2, source.endsWith('-}}') ? -3 : -2).trim()
    if (action.startsWith('/*')) return ''
    const [keyword = ''] = action.split(/\s/, 1)
    if (keyword === 'range') this.#openRange(action, source)
    else if (/^(if|with|block|define)$/.test(keyword)) {
      this.#refuse(source, this.#line)
      this.#blocks.push({ line: this.#line, range: null })
    } else if (keyword === 'else') this.#refuse(source, this.#line)
    else if (keyword === 'end') this.#close(source)
    else if (this.#blocks.some(({ range }) => range === null)) this.#refuse('{{ ... }}', this.#line)
    else return this.#number(source, this.#valueFor(action))
    return ''
  }

  #close(source: string): void {
    const { conversion } = this.#context
    if (!this.#blocks.pop()) throw invalidFile(this.#file.name, this.#line, '{{ end }} closes no block')
    conversion.verdicts.ignore(conversion.statement(this.#file.name, this.#line, source), 'structure')
  }

  /** Opens `range $i, $v := parseNumberRangePair "1-3" "11-13"` or `range parseNumberRange "1-3"`. Others count as conditions. */
  #openRange(action: string, source: string): void {
    const [, names = '', name = '', one = '', other] =
      /^range\s+(?:([^:]{1,200}):=\s*)?(parseNumberRange|parseNumberRangePair)\s+"([^"]*)"(?:\s+"([^"]*)")?$/.exec(
        action
      ) ?? []
    const isPair = name === 'parseNumberRangePair'
    if (name === '' || isPair !== (other !== undefined) || this.#blocks.length > 0) {
      this.#refuse(source, this.#line)
      this.#blocks.push({ line: this.#line, range: null })
      return
    }
    const spans = pairRanges(one, other ?? one)
    if (spans === null)
      throw invalidFile(
        this.#file.name,
        this.#line,
        'a range of numbers is wrong, or its two lists differ in length'
      )
    const variables = names.split(',').map(part => part.trim())
    const range = {
      id: this.ranges.length,
      value: variables.at(-1) ?? '',
      index: variables.length > 1 ? (variables[0] ?? '') : '',
      isPair
    }
    const statement = this.#context.conversion.statement(this.#file.name, this.#line, source)
    this.#context.conversion.verdicts.leaveUnused(statement)
    this.ranges.push({ spans, statements: [statement] })
    this.#blocks.push({ line: this.#line, range })
  }

  #valueFor(action: string): string {
    const [, variable] = /^\.Envs\.(\w{1,200})$/.exec(action) ?? []
    if (variable !== undefined) return this.#context.environment[variable] ?? unknownValue
    const range = this.#blocks.at(-1)?.range
    if (!range) return unknownValue
    const [name = '', field] = action.startsWith('.') ? ['', action.slice(1)] : action.split('.', 2)
    if (range.index !== '' && action === range.index) return `{{range ${range.id} index}}`
    if (name !== '' && name !== range.value) return unknownValue
    if (!range.isPair)
      return field === undefined || field === '' ? `{{range ${range.id} first}}` : unknownValue
    return field === 'First' || field === 'Second'
      ? `{{range ${range.id} ${field.toLowerCase()}}}`
      : unknownValue
  }

  #number(text: string, value: string): string {
    if (this.actions.length >= maxActions)
      throw invalidFile(this.#file.name, this.#line, `it has more than ${maxActions} templates; split it`)
    this.actions.push({ text, value })
    return `${this.prefix}${String(this.actions.length - 1).padStart(6, '0')}`
  }
}

const linesIn = (text: string): number => text.split('\n').length - 1

/** Numbers of 16 digits are still exact. */
function freePrefix({ name, text }: SourceFile): string {
  for (let number = 7_310_000_000; number < 7_310_000_100; number += 1)
    if (!text.includes(String(number))) return String(number)
  throw invalidFile(name, 1, 'it has too many numbers of ten digits that begin with 7310')
}

/** Pairs the numbers of `6000-6006,7000` and of another list; null if one is wrong or longer. */
export function pairRanges(one: string, other: string): Span[] | null {
  const firsts = parseRanges(one)
  const seconds = parseRanges(other)
  if (firsts === null || seconds === null) return null
  const spans: Span[] = []
  let index = 0
  for (let a = 0, b = 0, usedA = 0, usedB = 0; ; ) {
    const first = firsts[a]
    const second = seconds[b]
    if (!first || !second) return first || second ? null : spans
    const size = Math.min(first.size - usedA, second.size - usedB)
    spans.push({ first: first.from + usedA, second: second.from + usedB, index, size })
    index += size
    usedA += size
    usedB += size
    if (usedA === first.size) {
      a += 1
      usedA = 0
    }
    if (usedB === second.size) {
      b += 1
      usedB = 0
    }
  }
}

function parseRanges(text: string): { readonly from: number; readonly size: number }[] | null {
  const parts = text.split(',').map(part => {
    const [, from = '', to = from] = /^\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?$/.exec(part) ?? []
    return from === '' || Number(from) > Number(to)
      ? null
      : { from: Number(from), size: Number(to) - Number(from) + 1 }
  })
  const known = parts.filter(part => part !== null)
  return known.length === parts.length ? known : null
}

function restoreTable(table: TableNode, actions: readonly Action[], prefix: string): TableNode {
  const pattern = new RegExp(`${prefix}(\\d{6})`, 'g')
  const textFrom = (text: string): string => {
    const [first = ''] = text.split('\n', 1)
    const shown = first.replaceAll(pattern, (number, at) => actions[Number(at)]?.text ?? number)
    return first.length === text.length ? shown : `${shown}\n`
  }
  const valueFrom = (text: string): string =>
    text.replaceAll(pattern, (number, at) => actions[Number(at)]?.value ?? number)

  const restore = (node: Node): Node => {
    if (node.kind === 'table') return restoreEntries(node)
    const place = { line: node.line, text: textFrom(node.text) }
    return node.kind === 'list'
      ? { kind: 'list', ...place, items: node.items.map(restore) }
      : { kind: 'scalar', ...place, value: restoreScalar(node) }
  }

  const restoreEntries = ({ line, text, entries }: TableNode): TableNode => ({
    kind: 'table',
    line,
    text: textFrom(text),
    entries: new Map([...entries].map(([key, child]) => [valueFrom(key), restore(child)]))
  })

  const restoreScalar = ({ value, text }: ScalarNode): Scalar => {
    if (typeof value === 'string') return valueFrom(value)
    if (typeof value !== 'number' || Math.abs(value) < 1e15) return value
    const [digits] = /\d{1,32}$/.exec(text.slice(-40)) ?? [] // all of them: a long number is not exact
    return digits?.includes(prefix) ? valueFrom(digits) : unknownValue
  }

  return restoreEntries(table)
}
