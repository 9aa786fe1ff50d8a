import { Type } from 'typebox'
import { clientNotFound } from '../../kernel/base/errors.ts'
import { defineRoute, type Resource } from '../../kernel/http/route.ts'
import { ClientId } from '../../kernel/http/schema.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { endpointErrors } from '../advertised-endpoint/exports.ts'
import { type Clients, invalidClientAddress, invalidClientName } from '../clients/exports.ts'
import { defineList, recordFields } from '../http/exports.ts'
import { type Enrollments, enrollmentNotFound } from './enrollments.ts'
import { Enrollment } from './entities.ts'
import {
  EnrollmentId,
  enrollBody,
  enrollmentRow,
  fieldsIn,
  Invitation,
  type keys,
  ReEnrollBody
} from './schema.ts'

export interface RouteDeps extends Kernel<typeof keys> {
  readonly clients: Clients
  readonly enrollments: Enrollments
}

const resource = (id: string): Resource => ({
  kind: 'enrollment',
  id,
  async version(em) {
    const found = await em.findOne(Enrollment, { id })
    return found && [id, found.usedAt]
  }
})
const resourceOf = ({ enrollment_id }: Invitation): Resource => resource(enrollment_id)

const create = defineRoute({
  method: 'POST',
  url: '/v1/client-enrollments',
  action: 'enrollment.create',
  access: 'operator',
  status: 201,
  secrets: ['command', 'uri'],
  summary: 'Makes a one-time code for a new client.',
  description: 'The client exists once the code is redeemed, by the command of the reply.',
  schema: filled => ({
    body: enrollBody(filled),
    reply: Invitation,
    errors: [
      invalidClientName,
      invalidClientAddress,
      ...endpointErrors,
      ...recordFields.errors(fieldsIn(filled))
    ]
  }),
  run: ({ config, clients, enrollments, filled }: RouteDeps, { body, change, principal }) => {
    const request = {
      name: clients.normalizeName(body.name),
      address: clients.normalizeAddress(body.address ?? null),
      fields: recordFields.parse(fieldsIn(filled), body),
      clientId: null,
      createdBy: principal.userId,
      ttlSecs: body.ttl_secs ?? config.enrollment_ttl_secs
    }
    return change(resourceOf, em => enrollments.create(request, em))
  }
})

const renew = defineRoute({
  method: 'POST',
  url: '/v1/clients/:client_id/enrollment',
  action: 'enrollment.renew',
  access: 'operator',
  status: 201,
  secrets: ['command', 'uri'],
  summary: 'Makes a one-time code for an existing client.',
  description: 'The code gives the client a new token. Its older unused codes become invalid.',
  schema: () => ({
    params: Type.Object({ client_id: ClientId }),
    body: ReEnrollBody,
    reply: Invitation,
    errors: [clientNotFound, ...endpointErrors]
  }),
  run: ({ config, clients, enrollments }: RouteDeps, { body, change, params, principal }) =>
    change(resourceOf, async em => {
      const { id: clientId, name, address } = await clients.get(params.client_id, em)
      const ttlSecs = body.ttl_secs ?? config.enrollment_ttl_secs
      return enrollments.create(
        { name, address, fields: null, clientId, createdBy: principal.userId, ttlSecs },
        em
      )
    })
})

const list = defineList({
  url: '/v1/client-enrollments',
  action: 'enrollment.list',
  access: 'viewer',
  summary: 'Lists the codes that can still be redeemed.',
  schema: filled => ({ row: enrollmentRow(filled), errors: [] }),
  run: async ({ enrollments }: RouteDeps) => enrollments.list()
})

const cancel = defineRoute({
  method: 'DELETE',
  url: '/v1/client-enrollments/:enrollment_id',
  action: 'enrollment.cancel',
  access: 'operator',
  status: 204,
  summary: 'Cancels an unused code.',
  schema: () => ({
    params: Type.Object({ enrollment_id: EnrollmentId }),
    reply: Type.Void(),
    errors: [enrollmentNotFound]
  }),
  run: ({ enrollments }: RouteDeps, { change, params: { enrollment_id: id } }) =>
    change(resource(id), em => enrollments.cancel(id, em))
})

export const routes = [create, renew, list, cancel]
