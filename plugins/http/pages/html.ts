import { htmlEscape } from 'escape-goat'
import type { Media } from '../../../kernel/http/route.ts'

/** A part of a page, in which every value is escaped. */
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
 * Tags a template of HTML. Values are escaped for text and for attributes in quotes; Html stands as it is; arrays are joined;
 * null, undefined and false are empty. Scripts and styles belong in assets: escaping is not made for them.
 */
export const html = (parts: TemplateStringsArray, ...values: readonly unknown[]): Html =>
  new Html(parts.map((part, at) => part + (at < values.length ? textOf(values[at]) : '')).join(''))

/** Returns the page as the reply of a route with `reply: 'media'`. */
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
