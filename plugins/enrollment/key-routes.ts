import { Type } from 'typebox'
import { limitReached } from '../../kernel/base/errors.ts'
import { defineRoute, type Resource } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { endpointErrors } from '../advertised-endpoint/exports.ts'
import { defineList, recordFields } from '../http/exports.ts'
import type { EnrollmentKeys } from './enrollment-keys.ts'
import { EnrollmentKey } from './entities.ts'
import { enrollmentKeyNotFound, issuedKey, KeyId, keyRow, newKeyBody } from './key-schema.ts'
import { fieldsIn, type keys } from './schema.ts'

export interface KeyRouteDeps extends Kernel<typeof keys> {
  readonly enrollmentKeys: EnrollmentKeys
}

const params = Type.Object({ key_id: KeyId })

/** The version is that of the key itself: its clients may change without it. */
const resource = (id: string): Resource => ({
  kind: 'enrollment_key',
  id,
  async version(em) {
    const found = await em.findOne(EnrollmentKey, { id })
    return found && [id, found.used]
  }
})

const create = defineRoute({
  method: 'POST',
  url: '/v1/enrollment-keys',
  action: 'enrollment_key.create',
  access: 'operator',
  status: 201,
  secrets: ['key', 'uri', 'command'],
  summary: 'Makes a key that enrolls several hosts.',
  description:
    'A host that enrolls with the key gets its name from its host name, with a suffix if a client has the name. The key is shown only in this response.',
  schema: filled => ({
    body: newKeyBody(filled),
    reply: issuedKey(filled),
    errors: [limitReached, ...endpointErrors, ...recordFields.errors(fieldsIn(filled))]
  }),
  run: async ({ enrollmentKeys }: KeyRouteDeps, { body, change, principal }) => {
    const row = enrollmentKeys.parse(body, principal.userId)
    return change(
      ({ key_id }) => resource(key_id),
      em => enrollmentKeys.create(row, em)
    )
  }
})

const list = defineList({
  url: '/v1/enrollment-keys',
  action: 'enrollment_key.list',
  access: 'viewer',
  summary: 'Lists the enrollment keys, also those that no longer work.',
  schema: filled => ({ row: keyRow(filled), errors: [] }),
  run: async ({ enrollmentKeys }: KeyRouteDeps) => enrollmentKeys.list()
})

const read = defineRoute({
  method: 'GET',
  url: '/v1/enrollment-keys/:key_id',
  action: 'enrollment_key.read',
  access: 'viewer',
  summary: 'Returns one enrollment key, without its secret.',
  schema: filled => ({ params, reply: keyRow(filled), errors: [enrollmentKeyNotFound] }),
  record: ({ key_id: id }) => resource(id),
  run: ({ enrollmentKeys, store }: KeyRouteDeps, { params: { key_id: id } }) =>
    store.read(em => enrollmentKeys.read(id, em))
})

const remove = defineRoute({
  method: 'DELETE',
  url: '/v1/enrollment-keys/:key_id',
  action: 'enrollment_key.delete',
  access: 'operator',
  status: 204,
  summary: 'Deletes an enrollment key.',
  description: 'No further host can enroll with it. Its clients stay.',
  schema: () => ({ params, reply: Type.Void(), errors: [enrollmentKeyNotFound] }),
  run: ({ enrollmentKeys }: KeyRouteDeps, { change, params: { key_id: id } }) =>
    change(resource(id), em => enrollmentKeys.remove(id, em))
})

export const routes = [create, list, read, remove]
