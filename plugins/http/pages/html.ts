import { htmlEscape } from 'escape-goat'
import type { Media } from '../../../kernel/http/route.ts'

/** A fragment of a page with escaped values. */
export class Html {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  toString(): string {
    return this.#text
  }
}

/**
 * Tags an HTML template. Values are escaped for text and for quoted attributes. Html is inserted unchanged, arrays are
 * joined, and null, undefined and false are empty. Put scripts and styles into assets: they need other escaping.
 */
export const html = (parts: TemplateStringsArray, ...values: readonly unknown[]): Html =>
  new Html(parts.map((part, at) => part + (at < values.length ? textOf(values[at]) : '')).join(''))

/** Returns the page as a reply for `reply: 'media'`. */
export const page = (content: Html, status = 200): Media => ({
  status,
  type: 'text/html; charset=utf-8',
  body: `<!doctype html>${content}`
})

function textOf(value: unknown): string {
  if (value instanceof Html) return value.toString()
  if (Array.isArray(value)) return value.map(textOf).join('')
  return value === null || value === undefined || value === false ? '' : htmlEscape(String(value))
}
