import type { EntityManager } from '@mikro-orm/sql'
import { inDependencyOrder } from '../../../kernel/dependency-order.ts'
import { type HttpHost, hostSlot } from '../../../kernel/http/host.ts'
import { type Metric, metricsSlot } from '../../../kernel/metrics.ts'
import { ownVersion } from '../../../kernel/platform/version.ts'
import type { Kernel, Plugin } from '../../../kernel/plugin.ts'
import { type Filled, ownerOf, type Slot, type SlotReader } from '../../../kernel/slot.ts'
import { kernelStore } from '../../../kernel/store/kernel-store.ts'
import { openStore } from '../../../kernel/store/open.ts'
import type { Document } from './routes.ts'
import { openServices } from './services.ts'

interface Column {
  readonly table: string
  readonly name: string
  readonly type: string
  readonly role: 'key' | 'nullable' | 'value'
}

export interface Preview {
  /** The plugins in dependency order. */
  readonly plugins: readonly Plugin[]
  filled<T>(slot: Slot<T>): readonly Filled<T>[]
  /** The document of `/v1/openapi.json`. */
  readonly openapi: object
  /** The same document with references replaced. */
  readonly document: Document
  readonly columns: readonly Column[]
  /** Metrics by plugin; null: only a running server has them. */
  readonly metrics: ReadonlyMap<string, readonly Metric[] | null>
}

/**
 * Wires plugins without starting them, to read their routes, tables and metrics. Uses default settings and a database in
 * memory, and opens no listener. Rejects with the errors of a start.
 */
export async function openPreview(given: readonly Plugin[]): Promise<Preview> {
  const plugins = inDependencyOrder(given)
  const store = await openStore(':memory:', [kernelStore, ...plugins])
  try {
    const { filledFor, kernelOf } = openServices(plugins, store)
    const [host] = filledFor('kernel')(hostSlot)
    const http = await host?.value({ ...kernelOf('kernel'), version: ownVersion() })
    const openapi = http ? await mountAll(http, plugins, kernelOf) : { paths: {} }
    return {
      plugins,
      openapi,
      filled: slot => filledFor(ownerOf(slot))(slot),
      document: withoutReferences(openapi) as Document,
      columns: await store.read(async em => listColumns(em)),
      metrics: new Map(
        await Promise.all(
          plugins.map(
            async plugin => [plugin.name, await collectMetrics(filledFor('kernel', [plugin]))] as const
          )
        )
      )
    }
  } finally {
    await store.close()
  }
}

async function mountAll(http: HttpHost, plugins: readonly Plugin[], kernelOf: (name: string) => Kernel) {
  try {
    for (const plugin of plugins) await http.mount(plugin, kernelOf(plugin.name))
    await http.app.ready()
    return http.document()
  } finally {
    await http.close()
  }
}

/** Replaces each reference in the document by its target, and a recursive reference by {}. */
function withoutReferences(document: object): object {
  const target = (ref: string): unknown =>
    ref
      .split('/')
      .slice(1)
      .reduce((part: unknown, key) => (part as Readonly<Record<string, unknown>>)[key], document)
  const inline = (part: unknown, within: readonly string[]): unknown => {
    if (Array.isArray(part)) return part.map(one => inline(one, within))
    if (typeof part !== 'object' || part === null) return part
    const ref = '$ref' in part && typeof part.$ref === 'string' ? part.$ref : null
    if (ref !== null) return within.includes(ref) ? {} : inline(target(ref), [...within, ref])
    return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, inline(value, within)]))
  }
  return inline(document, []) as object
}

async function collectMetrics(filled: SlotReader): Promise<readonly Metric[] | null> {
  try {
    return (await Promise.all(filled(metricsSlot).map(({ value: collect }) => collect()))).flat()
  } catch {
    return null // it needs a running server
  }
}

function listColumns(em: EntityManager): Column[] {
  return [...em.getMetadata().getAll().values()].flatMap(({ tableName, props }) =>
    props.flatMap(({ fieldNames, columnTypes, primary, nullable }) =>
      fieldNames.map((name, at) => ({
        table: tableName,
        name,
        type: columnTypes[at] ?? '',
        role: primary ? ('key' as const) : nullable ? ('nullable' as const) : ('value' as const)
      }))
    )
  )
}
