// Checks a JSON body before it is parsed. The scan is linear and not recursive, and builds no value.
import { isUtf8 } from 'node:buffer'
import { Fault, invalidSchema } from '../../../kernel/base/errors.ts'
import { invalidJson, tooDeep } from '../codes.ts'
import { appendKey } from './violations.ts'

const maxDepth = 32
const maxMembers = 1000

// Bytes of ASCII, which no other character of UTF-8 contains. Literals make the scan several times faster.
const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openList = 0x5b
const backslash = 0x5c
const closeList = 0x5d
const openObject = 0x7b
const closeObject = 0x7d

/** An object or list that is open at the current position. */
interface Level {
  isList: boolean
  count: number // members, or finished elements
  keyStart: number // of the latest key, with its quotes
  keyEnd: number
}

/** Returns the text of a JSON body. Throws Fault for invalid UTF-8, and for too deep or too large structures. */
export function readJsonText(body: Buffer): string {
  if (!isUtf8(body)) {
    const offset = invalidUtf8At(body)
    throw new Fault(invalidJson, `the body is not UTF-8 at byte ${offset}; send it in UTF-8`, {
      details: { offset }
    })
  }
  refuseExcess(body)
  return body.toString()
}

/** Returns the error for a text that Fastify's parser has refused: also for valid JSON with keys that could change a prototype. */
export function jsonFault(text: string, error: Error): Error {
  try {
    JSON.parse(text)
  } catch {
    return error
  }
  return new Fault(invalidJson, 'the body has a key __proto__ or constructor; remove it', { cause: error })
}

/** Counts members as written, so a repeated key counts twice. Ignores syntax errors, which JSON.parse reports. */
function refuseExcess(body: Buffer): void {
  const levels: Level[] = []
  let depth = 0
  let keyStart = 0
  let keyEnd = 0
  for (let at = 0; at < body.length; at++)
    switch (body[at]) {
      case quote:
        keyStart = at
        at = endOfText(body, at)
        keyEnd = at + 1
        break
      case openObject:
      case openList:
        if (depth === maxDepth) throw deeper(pointer(body, levels.slice(0, depth)))
        enter(levels, depth++, body[at] === openList)
        break
      case closeObject:
      case closeList:
        depth = Math.max(0, depth - 1)
        break
      case colon: {
        const level = levels[depth - 1]
        if (!level || level.isList) break
        if (++level.count > maxMembers) throw larger(pointer(body, levels.slice(0, depth - 1)))
        level.keyStart = keyStart
        level.keyEnd = keyEnd
        break
      }
      case comma: {
        const level = levels[depth - 1]
        if (level?.isList) level.count++
      }
    }
}

/** Reuses the objects of earlier levels: a body can have a million brackets. */
function enter(levels: Level[], depth: number, isList: boolean): void {
  const level = levels[depth]
  if (!level) {
    levels[depth] = { isList, count: 0, keyStart: 0, keyEnd: 0 }
    return
  }
  level.isList = isList
  level.count = 0
}

/** Returns the position of the quote that ends the text, or that of the last byte. */
function endOfText(body: Buffer, start: number): number {
  let at = start + 1
  while (at < body.length && body[at] !== quote) at += body[at] === backslash ? 2 : 1
  return Math.min(at, body.length - 1)
}

const shownKeyBytes = 64

/** Returns a JSON pointer to the current element of the innermost level. */
const pointer = (body: Buffer, levels: readonly Level[]): string =>
  levels.reduce((path, { isList, count, keyStart, keyEnd }) => {
    const key = body.toString('utf8', keyStart + 1, Math.min(keyEnd - 1, keyStart + shownKeyBytes))
    return appendKey(path, isList ? String(count) : key)
  }, '')

const deeper = (field: string): Fault =>
  new Fault(tooDeep, `${field} is nested deeper than ${maxDepth} levels; send a flatter body`, {
    details: { ...errorAt(field, 'depth'), limit: maxDepth }
  })

const larger = (field: string): Fault =>
  new Fault(
    invalidSchema,
    `${field === '' ? 'the body' : field} must not have more than ${maxMembers} members`,
    { details: { ...errorAt(field, 'maxProperties'), limit: maxMembers } }
  )

/** The details that every refusal of a field has. */
const errorAt = (field: string, reason: string) => ({ field, reason, errors: [{ field, reason }] })

const replacement = '\ufffd' // decoding replaces each invalid sequence by it
const replacementBytes = Buffer.from(replacement)

/** Returns the offset of the first byte that is not part of valid UTF-8. */
function invalidUtf8At(body: Buffer): number {
  const text = body.toString()
  let offset = 0
  for (let from = 0, found = 0; ; from = found + 1) {
    found = text.indexOf(replacement, from)
    offset += Buffer.byteLength(text.slice(from, found))
    if (!body.subarray(offset, offset + 3).equals(replacementBytes)) return offset
    offset += 3
  }
}
