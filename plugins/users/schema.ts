import { type Static, type TProperties, type TSchema, type TSchemaOptions, Type } from 'typebox'
import { closed, orNull, timeOf, UserId } from '../../kernel/http/schema.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { recordFieldSlots, recordFields, roleSchema } from '../http/exports.ts'
import { invalidRole } from './codes.ts'
import { creationSlot, removalSlot, rowFieldSlot } from './exports.ts'

const description =
  'A superadmin sees and changes everything. An operator sees everything, and changes clients, rules and limits of everybody. A viewer sees everything. A user has own rules, where grants allow them.'
const Role = roleSchema({ description })
const DisplayName = Type.String({ description: '1 to 64 characters.', examples: ['Ann Miller'] })
const kindDescription =
  'A user can sign in. A service account is for automation: it has tokens, but no password and no session. It cannot change.'
const kindSchema = (options: TSchemaOptions) =>
  Type.Union([Type.Literal('user'), Type.Literal('service')], options)
const roleCode = { code: invalidRole.code }

export const UserParams = closed({ user_id: UserId })

export const Me = closed({ user_id: UserId, role: Role, display_name: DisplayName }, { $id: 'Me' })
export type Me = Static<typeof Me>

// users.ts checks the form of user_id and display_name, to return specific error codes.
const Create = Type.Object({
  user_id: UserId,
  display_name: DisplayName,
  role: Type.Optional(roleSchema({ ...roleCode, default: 'user', description })),
  kind: Type.Optional(kindSchema({ default: 'user', description: kindDescription }))
})

const Update = Type.Object({
  display_name: Type.Optional(DisplayName),
  role: Type.Optional(roleSchema({ ...roleCode, description })),
  disabled: Type.Optional(
    Type.Boolean({ description: 'Ends the sessions and refuses the tokens; the rules stay active.' })
  )
})

const Row = Type.Object({
  user_id: UserId,
  display_name: DisplayName,
  role: Role,
  disabled: Type.Boolean({ description: 'The user cannot sign in, and the tokens are refused.' }),
  kind: kindSchema({ description: kindDescription }),
  role_source: orNull(Type.String(), {
    description: 'Giver of the role: oidc: and the provider with the groups; null: it is given by hand.',
    examples: [null]
  }),
  created_at: timeOf('When the user was created.')
})

const Removed = Type.Object({ user_id: UserId })

/** The fields of this plugin, and those that other plugins add. */
export type UpdateBody = Static<typeof Update> & Readonly<Record<string, unknown>>
export type CreateBody = Static<typeof Create> & Readonly<Record<string, unknown>>
export type UserRow = Static<typeof Row> & Readonly<Record<string, unknown>>
export type RemovedUser = Static<typeof Removed> & Readonly<Record<string, unknown>>

export const fieldsIn = (filled: SlotReader) => filled(recordFieldSlots.user)

export function createBody(filled: SlotReader) {
  const added = filled(creationSlot).map(({ value }) => value.properties)
  return closedWith<CreateBody>(
    Create.properties,
    Object.assign(recordFields.given(fieldsIn(filled)), ...added)
  )
}

/** A user in the document of `apply`. */
export const documentBody = (filled: SlotReader) =>
  closed({
    ...Type.Partial(Type.Object({ ...Create.properties, ...Update.properties })).properties,
    user_id: UserId,
    ...recordFields.given(fieldsIn(filled))
  })

export const updateBody = (filled: SlotReader) =>
  closedWith<UpdateBody>(Update.properties, recordFields.patched(fieldsIn(filled)))

export function userRow(filled: SlotReader) {
  const added = filled(rowFieldSlot).map(({ value: { key, schema } }) => [key, schema] as const)
  const shown = recordFields.shown(fieldsIn(filled))
  return closedWith<UserRow>(Row.properties, { ...shown, ...Object.fromEntries(added) }, { $id: 'User' })
}

export function removedUser(filled: SlotReader) {
  const keys = filled(removalSlot).flatMap(({ value }) => value.key ?? [])
  const lists = Object.fromEntries(
    keys.map(key => [
      key,
      Type.Array(Type.String(), { description: 'Ids of objects deleted with the user.', examples: [[]] })
    ])
  )
  return closedWith<RemovedUser>(Removed.properties, lists)
}

/** `added` is known only at boot, so the caller gives the static type T. */
const closedWith = <T>(
  core: TProperties,
  added: Record<string, TSchema>,
  options: TSchemaOptions = {}
): Type.TUnsafe<T> => Type.Unsafe<T>(closed({ ...core, ...added }, options))
