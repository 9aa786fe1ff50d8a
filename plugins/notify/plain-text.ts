// Names in notifications are texts of others: no line breaks, control or bidirectional characters leave the server.
import { controlChars } from '../../kernel/base/log.ts'

const lineBreaks = /[\u0085\u2028\u2029]/gu
const allControls = new RegExp(controlChars, 'gu')

/** Returns the text on one line with at most `max` UTF-16 units, cut between characters. */
export function plainText(text: string, max: number): string {
  const line = text.replaceAll(allControls, ' ').replaceAll(lineBreaks, ' ').replaceAll(/ +/g, ' ').trim()
  return cutText(line, max)
}

/** Cuts a text to at most `max` UTF-16 units, with an ellipsis. */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text.toWellFormed()
  const cut = text.slice(0, max - 1)
  return `${(/[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut).toWellFormed()}…`
}
