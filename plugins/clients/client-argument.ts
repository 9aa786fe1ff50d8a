// The CLIENT argument of commands: an id, or a name that only one client has.
import { clientNotFound, defineCode, Fault } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import type { Api } from '../../kernel/cli/command.ts'
import { isId } from '../../kernel/platform/id.ts'
import type { ClientRow } from './client-row.ts'

export const clientNameAmbiguous = defineCode('client_name_ambiguous', 409, 5)

/** Shell completion: names of clients. */
export const clientNames = { values: ['/v1/clients', 'client_name'] } as const

export const ClientArg = Type.String({
  description: 'Id or unique name of a client.',
  ...clientNames
})

type Reader = Pick<Api, 'get' | 'list'>

/** Returns an id without a request, because the user may lack the right to read that client. */
export const findClientId = async (api: Reader, client: string): Promise<string> =>
  isId(client) ? client : (await findClient(api, client)).client_id

export async function findClient(api: Reader, client: string): Promise<ClientRow> {
  if (isId(client)) return api.get<ClientRow>(`/v1/clients/${client}`)
  const found = (await api.list<ClientRow>('/v1/clients')).filter(row => row.client_name === client)
  const [only] = found
  if (only === undefined) throw new Fault(clientNotFound, `no client is named ${client}`)
  if (found.length === 1) return only
  const details = { client_ids: found.map(row => row.client_id) }
  throw new Fault(clientNameAmbiguous, `${found.length} clients are named ${client}; give an id`, { details })
}
