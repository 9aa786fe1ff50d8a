import { type Static, type TProperties, type TSchema, type TSchemaOptions, Type } from 'typebox'
import { closed, Time } from '../../kernel/http/schema.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { invalidRole } from './codes.ts'
import { creationSlot, removalSlot, rowFieldSlot } from './exports.ts'

const roleOf = (options: TSchemaOptions) =>
  Type.Union([Type.Literal('superadmin'), Type.Literal('user')], options)
const Role = roleOf({})
const roleCode = { code: invalidRole.code }

export const UserParams = closed({ id: Type.String() })

export const Me = closed({ user_id: Type.String(), role: Role, display_name: Type.String() })
export type Me = Static<typeof Me>

// users.ts checks the form of user_id and display_name, with error codes of their own.
const Create = Type.Object({
  user_id: Type.String({ description: '1 to 32 of a-z, 0-9, _ and -, the first a letter.' }),
  display_name: Type.String({ description: '1 to 64 characters.' }),
  role: Type.Optional(roleOf({ ...roleCode, default: 'user' }))
})

export const UpdateBody = closed({
  display_name: Type.Optional(Type.String({ description: '1 to 64 characters.' })),
  role: Type.Optional(roleOf(roleCode)),
  disabled: Type.Optional(
    Type.Boolean({ description: 'Ends the sessions and refuses the credentials; the rules keep running.' })
  )
})
export type UpdateBody = Static<typeof UpdateBody>

const Row = Type.Object({
  user_id: Type.String(),
  display_name: Type.String(),
  role: Role,
  disabled: Type.Boolean(),
  created_at: Time
})

const Removed = Type.Object({ user_id: Type.String() })

/** The fields of this plugin, and those that other plugins add. */
export type CreateBody = Static<typeof Create> & Readonly<Record<string, unknown>>
export type UserRow = Static<typeof Row> & Readonly<Record<string, unknown>>
export type RemovedUser = Static<typeof Removed> & Readonly<Record<string, unknown>>

export function createBody(filled: SlotReader) {
  const added = filled(creationSlot).map(({ value }) => value.properties)
  return composed<CreateBody>(Create.properties, Object.assign({}, ...added))
}

export function userRow(filled: SlotReader) {
  const added = filled(rowFieldSlot).map(({ value: { key, schema } }) => [key, schema] as const)
  return composed<UserRow>(Row.properties, Object.fromEntries(added))
}

export function removedUser(filled: SlotReader) {
  const keys = filled(removalSlot).flatMap(({ value }) => value.key ?? [])
  const lists = Object.fromEntries(keys.map(key => [key, Type.Array(Type.String())]))
  return composed<RemovedUser>(Removed.properties, lists)
}

/** `added` is known only at boot, so the static type T is given. */
const composed = <T>(core: TProperties, added: Record<string, TSchema>): Type.TUnsafe<T> =>
  Type.Unsafe<T>(closed({ ...core, ...added }))
