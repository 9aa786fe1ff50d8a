import { Type } from 'typebox'
import { Errors } from 'typebox/value'
import * as errors from './base/errors.ts'
import { unmetNeed } from './base/version-range.ts'
import { controlSlot } from './control/host.ts'
import { objectKindSlot } from './control/managed-objects.ts'
import { connectionSlot } from './control/peers.ts'
import { hostSlot } from './http/host.ts'
import { authenticatorSlot } from './http/principal.ts'
import { metricsSlot } from './metrics.ts'
import type { Plugin } from './plugin.ts'
import { serverKeys } from './settings.ts'
import { ownerOf, type Slot } from './slot.ts'
import { revocationSlot } from './store/revocation.ts'

/** Version of the plugin contract; the `kernel` range of a plugin must include it. */
const contractVersion = '2.0.0'

export const kernelSlots: readonly Slot<never>[] = [
  controlSlot,
  hostSlot,
  authenticatorSlot,
  connectionSlot,
  objectKindSlot,
  metricsSlot,
  revocationSlot
]
export const kernelCodes = Object.values(errors).filter(value => typeof value === 'object')

/** Names that only one plugin can claim, by kind. */
const uniqueNames: Readonly<Record<string, (plugin: Plugin) => readonly string[]>> = {
  plugin: ({ name }) => [name],
  prefix: ({ prefix }) => (prefix === undefined ? [] : [prefix]),
  key: ({ keys }) => Object.keys(keys?.properties ?? {}),
  route: ({ routes }) => (routes ?? []).map(({ method, url }) => `${method} ${url.replaceAll(/:\w+/g, ':')}`),
  action: ({ routes }) => (routes ?? []).map(({ action }) => action),
  code: ({ codes }) => (codes ?? []).map(({ code }) => code),
  message: ({ messages }) => (messages ?? []).map(({ name }) => name),
  table: ({ store }) => (store?.entities ?? []).map(({ meta }) => meta.tableName),
  slot: ({ slots }) => (slots ?? []).map(({ id }) => id),
  command: ({ commands }) => (commands ?? []).map(({ name }) => name)
}

const kernelNames: Readonly<Record<string, readonly string[]>> = {
  plugin: ['kernel'],
  prefix: ['/v1', '/livez', '/readyz'],
  key: [...Object.keys(serverKeys.properties), 'plugins'],
  code: kernelCodes.map(({ code }) => code)
}

const Manifest = Type.Object({
  name: Type.String({ pattern: '^[a-z][a-z0-9]*(-[a-z0-9]+)*$', maxLength: 32 }),
  version: Type.String({ pattern: '^\\d+\\.\\d+\\.\\d+(-[0-9A-Za-z.-]+)?$' }),
  kernel: Type.String({ minLength: 1 }),
  prefix: Type.Optional(Type.String({ pattern: '^/[a-z][a-z0-9-]{0,31}$' }))
})

/** Checks manifests before anything runs. Each problem names its plugins. */
export function pluginProblems(plugins: readonly Plugin[]): string[] {
  const malformed = plugins.flatMap(manifestProblems)
  if (malformed.length > 0) return malformed
  return [
    ...duplicateNames(plugins),
    ...plugins.flatMap(foreignSlotsAndTables(plugins)),
    ...plugins.flatMap(unmetNeeds(plugins)),
    ...plugins.flatMap(foreignRoutes)
  ]
}

function manifestProblems(plugin: Plugin): string[] {
  const name = String(plugin?.name ?? 'a plugin')
  const wrong = Errors(Manifest, plugin).map(at => `${name}: manifest ${at.instancePath} ${at.message}`)
  if (wrong.length > 0) return wrong
  const need = { what: 'sluice with kernel', range: plugin.kernel, found: contractVersion }
  return unmetNeed({ by: `${name} ${plugin.version}`, ...need })
}

const foreignRoutes = ({ name, prefix, routes = [] }: Plugin): string[] =>
  routes
    .filter(({ url }) => !/^\/(v1\/|(livez|readyz)$)/.test(url))
    .filter(({ url }) => url !== prefix && !url.startsWith(`${prefix}/`) && !url.startsWith(`${prefix}.`))
    .map(({ url }) => `${name}: route ${url} must begin with /v1/ or with the plugin's \`prefix\``)

function duplicateNames(plugins: readonly Plugin[]): string[] {
  return Object.entries(uniqueNames).flatMap(([what, list]) => {
    const claims = [
      ...(kernelNames[what] ?? []).map(id => ({ id, by: 'the kernel' })),
      ...plugins.flatMap(plugin => list(plugin).map(id => ({ id, by: plugin.name })))
    ]
    return [...Map.groupBy(claims, ({ id }) => id)]
      .filter(([, claimants]) => claimants.length > 1)
      .map(([id, claimants]) => `${what} ${id} is claimed by ${claimants.map(({ by }) => by).join(' and ')}`)
  })
}

function unmetNeeds(plugins: readonly Plugin[]): (plugin: Plugin) => string[] {
  const versions = new Map(plugins.map(({ name, version }) => [name, version]))
  return ({ name, version, needs }) =>
    Object.entries(needs ?? {}).flatMap(([what, range]) => {
      const found = versions.get(what)
      if (found === undefined) return [`${name} needs ${what} ${range}, which is not loaded`]
      return unmetNeed({ by: `${name} ${version}`, what, range, found })
    })
}

/** Reports filled slots of plugins that are not loaded or needed, and tables without the plugin's prefix. */
function foreignSlotsAndTables(plugins: readonly Plugin[]): (plugin: Plugin) => string[] {
  const owned = new Set([...kernelSlots, ...plugins.flatMap(({ slots }) => slots ?? [])].map(({ id }) => id))
  return ({ name, needs, fills, store }) => {
    const prefix = name.replaceAll('-', '_')
    const slots = (fills ?? []).map(({ slot }) => slot)
    return [
      ...slots
        .filter(slot => slot.ifOwnerMissing === 'required' && !owned.has(slot.id))
        .map(slot => `${name} fills ${slot.id}, which no loaded plugin owns`),
      ...slots
        .flatMap(slot => (slot.ifOwnerMissing === 'required' ? ownerOf(slot) : []))
        .filter(owner => owner !== 'kernel' && owner !== name && !(owner in (needs ?? {})))
        .map(owner => `${name} fills a slot of ${owner}; add ${owner} to \`needs\``),
      ...(store?.entities ?? [])
        .map(({ meta }) => meta.tableName)
        .filter(table => table !== prefix && !table.startsWith(`${prefix}_`))
        .map(table => `${name} owns table ${table}; its name must begin with ${prefix}`)
    ]
  }
}
