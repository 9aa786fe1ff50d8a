// A CLIENT argument of the command line: an id, or a name that only one client has.
import { clientNotFound, defineCode, Fault } from '../../kernel/base/errors.ts'
import { isId } from '../../kernel/base/id.ts'
import type { Api } from '../../kernel/cli/command.ts'
import type { ClientRow } from './row.ts'

export const clientNameAmbiguous = defineCode('client_name_ambiguous', 409, 5)

/** Its id; of one that is named by it nothing is asked: the caller may know no more of it than that. */
export const clientIdOf = async (api: Pick<Api, 'get' | 'list'>, client: string): Promise<string> =>
  isId(client) ? client : (await pickClient(api, client)).client_id

export async function pickClient(api: Pick<Api, 'get' | 'list'>, client: string): Promise<ClientRow> {
  if (isId(client)) return api.get<ClientRow>(`/v1/clients/${client}`)
  const named = (await api.list<ClientRow>('/v1/clients')).filter(row => row.client_name === client)
  const [only] = named
  if (only === undefined) throw new Fault(clientNotFound, `no client is named ${client}`)
  if (named.length === 1) return only
  const details = { client_ids: named.map(row => row.client_id) }
  throw new Fault(clientNameAmbiguous, `${named.length} clients are named ${client}; give an id`, { details })
}
