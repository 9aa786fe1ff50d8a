import { Type } from 'typebox'
import { clientNotFound } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { defineList } from '../http/exports.ts'
import { ClientParams, SwitchBody, Switched, SwitchRecord } from './schema.ts'
import { type Switches, unsupported } from './switches.ts'

interface Deps {
  readonly switches: Switches
}

const url = '/v1/under-attack'
const urlOfClient = '/v1/clients/:client_id/under-attack'
const description =
  'Divides per-source limits and ban thresholds by 4; rules without source limits get those of the body. UDP rules reply with at most 3 times the bytes received. The switch turns off after `for_secs`; an offline client gets it when it reconnects.'

const list = defineList({
  url,
  action: 'under_attack.list',
  access: 'viewer',
  summary: 'Lists where the switch "under attack" is on.',
  schema: () => ({ row: SwitchRecord, errors: [] }),
  run: ({ switches }: Deps) => switches.list()
})

const onForAll = defineRoute({
  method: 'PUT',
  url,
  action: 'under_attack.on_for_all',
  access: 'operator',
  summary: 'Turns the switch "under attack" on for all clients, and for those that enroll while it is on.',
  description,
  schema: () => ({ body: SwitchBody, reply: Switched, errors: [unsupported] }),
  run: async ({ switches }: Deps, call) => ({ under_attack: await switches.on('all', call.body, call) })
})

const offForAll = defineRoute({
  method: 'DELETE',
  url,
  action: 'under_attack.off_for_all',
  access: 'operator',
  status: 204,
  summary: 'Turns the switch "under attack" off wherever it is on.',
  schema: () => ({ reply: Type.Void(), errors: [] }),
  run: ({ switches }: Deps, call) => switches.off('all', call)
})

const on = defineRoute({
  method: 'PUT',
  url: urlOfClient,
  action: 'under_attack.on',
  access: 'operator',
  summary: 'Turns the switch "under attack" on for a client, or restarts it.',
  description,
  schema: () => ({
    params: ClientParams,
    body: SwitchBody,
    reply: SwitchRecord,
    errors: [clientNotFound, unsupported]
  }),
  async run({ switches }: Deps, call) {
    const [record] = await switches.on({ client: call.params.client_id }, call.body, call)
    if (!record) throw new TypeError('the client has no switch')
    return record
  }
})

const off = defineRoute({
  method: 'DELETE',
  url: urlOfClient,
  action: 'under_attack.off',
  access: 'operator',
  status: 204,
  summary: 'Turns the switch "under attack" off for a client.',
  schema: () => ({ params: ClientParams, reply: Type.Void(), errors: [clientNotFound] }),
  run: ({ switches }: Deps, call) => switches.off({ client: call.params.client_id }, call)
})

export const routes = [list, onForAll, offForAll, on, off]
