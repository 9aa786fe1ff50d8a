import { fieldError } from '../../../parts/form/field-error.ts'
import type { Schema } from '../../../parts/schema-form/schema.ts'
import type { Values } from '../../../parts/schema-form/values.ts'
import { text } from '../../../text/text.ts'
import type { Client } from '../../clients/queries.ts'
import type { Path } from '../../links/paths.ts'
import { clientsLacking, type Grant } from './offers.ts'
import { PathField } from './PathField.tsx'

interface OfferProps {
  readonly values: Values
  readonly schema: Schema | undefined // of the field; undefined: the server has no links
  readonly clients: readonly Client[]
  readonly selectedClients: readonly Client[]
  readonly grants: readonly Grant[] | null // exit grants; null: nothing limits the user
}

/** Clients for the paths of the form. */
export interface PathOffers {
  readonly clients: readonly Client[]
  readonly offers: readonly Client[]
}

export const pathIn = ({ via }: Values): Path =>
  typeof via === 'string' ? [via] : Array.isArray(via) ? (via as Path) : []

/** Returns what the form offers; null if the server, or a client of the rule, has no links. */
export function pathOffers({
  values,
  schema,
  clients,
  selectedClients,
  grants
}: OfferProps): PathOffers | null {
  const link = schema?.['x-requires']
  if (!link) return null
  const required = values['protocol'] === 'udp' ? { ...link, id: 'link.datagram' } : link
  if (clientsLacking(selectedClients, required).length > 0 && pathIn(values).length === 0) return null
  const [only, ...others] = selectedClients
  const offers = clients.filter(
    client =>
      client.state !== 'revoked' &&
      !(others.length === 0 && client === only) &&
      clientsLacking([client], required).length === 0 &&
      (grants === null || isGranted(client, grants, values, selectedClients))
  )
  return { clients, offers }
}

const isGranted = (
  { client_id }: Client,
  grants: readonly Grant[],
  { protocol }: Values,
  entries: readonly Client[]
): boolean =>
  entries.every(entry =>
    grants.some(
      grant =>
        (grant.client_id === client_id || grant.client_id === '*') &&
        grant.protocols.some(name => name === protocol) &&
        (grant.entries?.includes(entry.client_id) ?? true)
    )
  )

interface Props extends PathOffers {
  readonly values: Values
  readonly set: (values: Values) => void
  readonly error: Error | null
}

/** The path of all targets that have none of their own. */
export const RulePath = ({ values, set, error, ...offers }: Props) => (
  <PathField
    {...offers}
    name="via"
    label={text.links.path}
    description={offers.offers.length === 0 ? text.links.noOffers : text.links.pathHint}
    path={pathIn(values)}
    error={fieldError(error, 'via', 'parts')}
    onChange={path => set({ ...values, via: path?.length ? path : undefined })}
  />
)
