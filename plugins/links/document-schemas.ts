// The kinds `link_endpoints` and `links` in the document of `apply`, for the server.
import { Type } from 'typebox'
import type { Kernel } from '../../kernel/plugin.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { type DocumentSchema, recordFields } from '../http/exports.ts'
import { invalidLink } from './codes.ts'
import { EndpointSettings, parseEndpoint, parseHosts } from './endpoint.ts'
import { defaultSettings } from './link-rows.ts'
import { fieldsIn, parseNote, Settings, type SettingsBody } from './schema.ts'

const closedTo = (properties: Parameters<typeof Type.Object>[0]) =>
  Type.Object(properties, { additionalProperties: false })

const ClientRef = (description: string) => Type.String({ description, examples: ['paris'] })

export const endpointSchema: DocumentSchema = {
  name: 'link_endpoints',
  entry: () =>
    closedTo({ client: ClientRef('Id or unique name of a client.'), ...EndpointSettings.properties }),
  normalize: ({ client, ...endpoint }) => ({ client, ...parseEndpoint(endpoint) }),
  errors: () => [invalidLink],
  defaults: () => ({ ...parseEndpoint({}) })
}

const given = (filled: SlotReader) => recordFields.given(fieldsIn(filled))

export const linkSchema = ({ filled }: Pick<Kernel, 'filled'>): DocumentSchema => ({
  name: 'links',
  entry: () =>
    closedTo({
      entry: ClientRef('Id or unique name of the near client.'),
      exit: ClientRef('Id or unique name of the far client.'),
      ...Settings.properties,
      ...given(filled)
    }),
  normalize(entry) {
    const { hosts, note } = entry as SettingsBody // by the schema
    const values = recordFields.parse(fieldsIn(filled), entry)
    return {
      ...entry,
      ...(hosts && { hosts: parseHosts(hosts, '/hosts') }),
      ...(note !== undefined && { note: parseNote(note) }),
      ...values
    }
  },
  errors: () => [invalidLink, ...recordFields.errors(fieldsIn(filled))],
  defaults: () => ({
    direction: defaultSettings.direction,
    hosts: defaultSettings.hosts,
    udp: defaultSettings.udpWanted,
    note: defaultSettings.note,
    ...recordFields.absent(fieldsIn(filled))
  })
})
