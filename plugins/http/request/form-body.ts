// Bodies of HTML forms: https://html.spec.whatwg.org/#form-submission-algorithm
import { isUtf8 } from 'node:buffer'
import { type Static, Type } from 'typebox'
import { Fault } from '../../../kernel/base/errors.ts'
import { invalidForm } from '../codes.ts'

/** Content types of forms without and with files. */
export const formTypes = ['application/x-www-form-urlencoded', 'multipart/form-data'] as const

const formType = new RegExp(`^(${formTypes.join('|')})\\s*(;|$)`, 'i')

export const isFormType = (contentType: string | undefined): boolean => formType.test(contentType ?? '')

const maxFields = 200

/** A file in a form. `name` and `type` come from the caller, unverified. */
export const FormFile = Type.Object(
  { name: Type.String(), type: Type.String(), bytes: Type.Unsafe<Uint8Array>({}) },
  { additionalProperties: false }
)
export type FormFile = Static<typeof FormFile>

type Value = string | FormFile

/** Returns the fields of a form: strings or FormFiles, or arrays of them for repeated fields. Throws Fault. */
export async function parseForm(body: Buffer, contentType: string): Promise<Record<string, Value | Value[]>> {
  if (hasMoreParts(body, separatorOf(contentType))) throw tooMany()
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } })
    .formData()
    .catch((cause: unknown) => {
      throw new Fault(invalidForm, 'the body is not a form of its Content-Type', { cause })
    })
  const entries = [...form]
  if (entries.length > maxFields) throw tooMany()
  const fields = await Promise.all(entries.map(async ([name, value]) => ({ name, value: await read(value) })))
  if (isMultipart(contentType) ? hasReplaced(fields, body) : !isUtf8(percentDecoded(body)))
    throw new Fault(invalidForm, 'the body is not UTF-8; send it in UTF-8')
  return Object.fromEntries(
    [...Map.groupBy(fields, ({ name }) => name)].map(([name, [first, ...more]]) => {
      const values = more.map(({ value }) => value)
      return [name, first && values.length > 0 ? [first.value, ...values] : (first?.value ?? '')]
    })
  )
}

const isMultipart = (contentType: string): boolean => contentType.toLowerCase().startsWith('multipart/')

const percentDecoded = (body: Buffer): Buffer =>
  Buffer.from(
    body
      .toString('latin1')
      .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1'
  )

/** True if the texts of a form have more replacement characters than its body has outside of its files. */
function hasReplaced(
  fields: readonly { readonly name: string; readonly value: Value }[],
  body: Buffer
): boolean {
  const files = fields.flatMap(({ value }) => (typeof value === 'string' ? [] : [value]))
  const texts = fields.flatMap(({ name, value }) => [name, typeof value === 'string' ? value : value.name])
  const inFiles = files.reduce((sum, { bytes }) => sum + countReplacements(Buffer.from(bytes)), 0)
  return countReplacements(Buffer.from(texts.join('\n'))) > countReplacements(body) - inFiles
}

const countReplacements = (bytes: Buffer): number => bytes.toString('latin1').split('\xef\xbf\xbd').length - 1

const tooMany = (): Fault => new Fault(invalidForm, `a form has at most ${maxFields} fields`)

/** Returns the text between two fields. */
function separatorOf(contentType: string): string {
  const [, quoted, bare] = /;\s*boundary\s*=\s*(?:"([^"]*)"|([^;\s]*))/i.exec(contentType) ?? []
  return isMultipart(contentType) ? `--${quoted ?? bare ?? ''}` : '&'
}

/** Counts before parsing, since each field costs much more than its bytes. Fields may be empty: `a&&b`. */
function hasMoreParts(body: Buffer, separator: string): boolean {
  let count = 0
  for (let at = body.indexOf(separator); at !== -1; at = body.indexOf(separator, at + separator.length))
    if (++count > maxFields + 1) return true
  return false
}

const read = async (value: string | File): Promise<Value> =>
  typeof value === 'string'
    ? value
    : { name: value.name, type: value.type, bytes: new Uint8Array(await value.arrayBuffer()) }
