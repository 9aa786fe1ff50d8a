// Bodies of forms, as browsers send them: https://html.spec.whatwg.org/#form-submission-algorithm
import { type Static, Type } from 'typebox'
import { Fault } from '../../../kernel/base/errors.ts'
import { invalidForm } from '../codes.ts'

/** The types of a form's body: without and with files. */
export const formTypes = ['application/x-www-form-urlencoded', 'multipart/form-data'] as const

const formType = new RegExp(`^(${formTypes.join('|')})\\s*(;|$)`, 'i')

export const isFormType = (contentType: string | undefined): boolean => formType.test(contentType ?? '')

const maxFields = 200

/** A file that a form sends. `name` and `type` are what the caller says. */
export const FormFile = Type.Object(
  { name: Type.String(), type: Type.String(), bytes: Type.Unsafe<Uint8Array>({}) },
  { additionalProperties: false }
)
export type FormFile = Static<typeof FormFile>

type Value = string | FormFile

/** Returns the fields of a form: each a string or a FormFile, or an array of them where it is repeated. Throws Fault. */
export async function parseForm(body: Buffer, contentType: string): Promise<Record<string, Value | Value[]>> {
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } })
    .formData()
    .catch((cause: unknown) => {
      throw new Fault(invalidForm, 'the body is not a form of its Content-Type', { cause })
    })
  const entries = [...form]
  if (entries.length > maxFields) throw new Fault(invalidForm, `a form has at most ${maxFields} fields`)
  const fields = Map.groupBy(
    await Promise.all(entries.map(async ([name, value]) => ({ name, value: await read(value) }))),
    ({ name }) => name
  )
  return Object.fromEntries(
    [...fields].map(([name, [first, ...more]]) => {
      const values = more.map(({ value }) => value)
      return [name, first && values.length > 0 ? [first.value, ...values] : (first?.value ?? '')]
    })
  )
}

const read = async (value: string | File): Promise<Value> =>
  typeof value === 'string'
    ? value
    : { name: value.name, type: value.type, bytes: new Uint8Array(await value.arrayBuffer()) }
