// Parses the syntax of nginx: directives, quotes, comments, blocks and includes.
import type { Conversion } from './conversion.ts'
import { isSecretText, maskWords } from './mask-words.ts'
import type { Statement } from './report.ts'
import { type IncludeReader, invalidFile, type SourceFile } from './source-file.ts'

export interface Directive {
  readonly name: string
  readonly values: readonly string[]
  readonly block: readonly Directive[] | null // null: ended by a semicolon
  readonly statement: Statement
}

const maxDepth = 32

interface Token {
  readonly kind: 'word' | '{' | '}' | ';' | 'end'
  readonly text: string
  readonly line: number
}

/** Throws `import_invalid` with the line. */
export function parseNginx(file: SourceFile, includes: IncludeReader, conversion: Conversion): Directive[] {
  return new Parser(file, { includes, conversion, includeDepth: 0 }).directives(0)
}

interface Context {
  readonly includes: IncludeReader
  readonly conversion: Conversion
  readonly includeDepth: number
}

class Parser {
  readonly #file: SourceFile
  readonly #context: Context
  readonly #tokens: Tokens

  constructor(file: SourceFile, context: Context) {
    this.#file = file
    this.#context = context
    this.#tokens = new Tokens(file)
  }

  /** Parses up to the end of the block, or of the file for depth 0. */
  directives(depth: number): Directive[] {
    const found: Directive[] = []
    for (;;) {
      const token = this.#tokens.next()
      if (token.kind === 'end') {
        if (depth > 0) throw this.#invalid(token, 'a block is not closed: } is missing')
        return found
      }
      if (token.kind === '}') {
        if (depth === 0) throw this.#invalid(token, '} closes no block')
        return found
      }
      if (token.kind === ';') throw this.#invalid(token, '; ends no directive')
      if (token.kind === '{') throw this.#invalid(token, '{ has no directive before it')
      if (depth >= maxDepth) throw this.#invalid(token, `blocks are nested more than ${maxDepth} deep`)
      for (const directive of this.#directive(token, depth)) found.push(directive) // an include can have many
    }
  }

  #directive({ text: name, line }: Token, depth: number): readonly Directive[] {
    const values: string[] = []
    for (;;) {
      const token = this.#tokens.next()
      if (token.kind === 'word') values.push(token.text)
      else if (token.kind === ';') return this.#end(name, values, line)
      else if (token.kind === '{') return [this.#block(name, values, line, depth)]
      else throw this.#invalid(token, 'a directive is not ended: ; is missing')
    }
  }

  #end(name: string, values: readonly string[], line: number): readonly Directive[] {
    const statement = this.#statement(name, values, line)
    if (name !== 'include') return [{ name, values, block: null, statement }]
    const { includes, conversion, includeDepth } = this.#context
    const found = includes.read(values[0] ?? '', { file: this.#file.name, line, depth: includeDepth })
    if (typeof found === 'string') {
      conversion.verdicts.refuse(statement, 'include')
      return [{ name, values, block: null, statement }]
    }
    conversion.verdicts.map(statement, null)
    return found.flatMap(file =>
      new Parser(file, { ...this.#context, includeDepth: includeDepth + 1 }).directives(0)
    )
  }

  #block(name: string, values: readonly string[], line: number, depth: number): Directive {
    const statement = this.#statement(name, values, line)
    if (!name.endsWith('_by_lua_block')) return { name, values, statement, block: this.directives(depth + 1) }
    if (!this.#tokens.skipBlock())
      throw invalidFile(this.#file.name, line, 'a block is not closed: } is missing')
    return { name, values, statement, block: [] }
  }

  #statement(name: string, values: readonly string[], line: number): Statement {
    const words = [name, ...values]
    return this.#context.conversion.statement(
      this.#file.name,
      line,
      maskWords(words),
      isSecretText(words) ? 'left_out' : 'none'
    )
  }

  #invalid({ line }: Token, why: string): Error {
    return invalidFile(this.#file.name, line, why)
  }
}

class Tokens {
  readonly #file: string
  readonly #text: string
  #at = 0
  #line = 1

  constructor({ name, text }: SourceFile) {
    this.#file = name
    this.#text = text
  }

  next(): Token {
    this.#skipSpace()
    const line = this.#line
    const character = this.#text[this.#at]
    if (character === undefined) return { kind: 'end', text: '', line }
    if (character === '{' || character === '}' || character === ';') {
      this.#at += 1
      return { kind: character, text: character, line }
    }
    return { kind: 'word', text: this.#word(), line }
  }

  /** Skips code up to the brace that closes the block. Returns false if there is none. */
  skipBlock(): boolean {
    let open = 1
    for (; this.#at < this.#text.length && open > 0; this.#at += 1) {
      const character = this.#text[this.#at]
      if (character === '\n') this.#line += 1
      if (character === '{') open += 1
      if (character === '}') open -= 1
    }
    return open === 0
  }

  #skipSpace(): void {
    for (;;) {
      const character = this.#text[this.#at]
      if (character === '#') {
        const end = this.#text.indexOf('\n', this.#at)
        this.#at = end < 0 ? this.#text.length : end
      } else if (character !== undefined && /\s/.test(character)) {
        if (character === '\n') this.#line += 1
        this.#at += 1
      } else return
    }
  }

  #word(): string {
    const first = this.#text[this.#at]
    return first === '"' || first === "'" ? this.#quoted(first) : this.#bare()
  }

  #quoted(quote: string): string {
    const line = this.#line
    let word = ''
    for (this.#at += 1; this.#at < this.#text.length; this.#at += 1) {
      const character = this.#text[this.#at] ?? ''
      if (character === quote) {
        this.#at += 1
        return word
      }
      word += character === '\\' ? this.#escaped() : character
      if (character === '\n') this.#line += 1
    }
    throw invalidFile(this.#file, line, `a quote (${quote}) is not closed`)
  }

  /** `${name}` is part of a word. */
  #bare(): string {
    let word = ''
    for (; this.#at < this.#text.length; this.#at += 1) {
      const character = this.#text[this.#at] ?? ''
      if (character === '$' && this.#text[this.#at + 1] === '{') {
        const [name] = /^\$\{\w+\}/.exec(this.#text.slice(this.#at, this.#at + 100)) ?? []
        if (name !== undefined) {
          word += name
          this.#at += name.length - 1
          continue
        }
      }
      if (/[\s;{}]/.test(character)) break
      word += character === '\\' ? this.#escaped() : character
    }
    return word
  }

  /** Returns the character after a backslash. nginx keeps the backslash before most characters. */
  #escaped(): string {
    const next = this.#text[this.#at + 1]
    if (next === undefined) return '\\'
    this.#at += 1
    if (next === '\n') this.#line += 1
    const known: Readonly<Record<string, string>> = { t: '\t', r: '\r', n: '\n' }
    return known[next] ?? (/["'\\ ;{}]/.test(next) ? next : `\\${next}`)
  }
}
