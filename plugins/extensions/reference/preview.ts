// Wires plugins without starting anything, to read their routes, tables and metrics.
import type { EntityManager } from '@mikro-orm/sql'
import { ownVersion } from '../../../kernel/base/version.ts'
import { inDependencyOrder } from '../../../kernel/dependency-order.ts'
import { type HttpHost, hostSlot } from '../../../kernel/http/host.ts'
import { type Metric, metricsSlot } from '../../../kernel/metrics.ts'
import type { Kernel, Plugin } from '../../../kernel/plugin.ts'
import { type Filled, ownerOf, type Slot, type SlotReader } from '../../../kernel/slot.ts'
import { kernelStore } from '../../../kernel/store/kernel-store.ts'
import { openStore } from '../../../kernel/store/open.ts'
import type { Document } from './routes.ts'
import { openServices } from './services.ts'

export interface Column {
  readonly table: string
  readonly name: string
  readonly type: string
  readonly of: 'key' | 'nullable' | 'value'
}

export interface Preview {
  /** In dependency order. */
  readonly plugins: readonly Plugin[]
  filled<T>(slot: Slot<T>): readonly Filled<T>[]
  /** The document of `/v1/openapi.json`. */
  readonly document: Document
  readonly columns: readonly Column[]
  /** Metrics by plugin; null where only a running server has them. */
  readonly metrics: ReadonlyMap<string, readonly Metric[] | null>
}

/** Uses default settings and a database in memory, and opens no listener. Rejects with errors of a start. */
export async function openPreview(given: readonly Plugin[]): Promise<Preview> {
  const plugins = inDependencyOrder(given)
  const store = await openStore(':memory:', [kernelStore, ...plugins])
  try {
    const { filledFor, kernelOf } = openServices(plugins, store)
    const [host] = filledFor('kernel')(hostSlot)
    const http = await host?.value({ ...kernelOf('kernel'), version: ownVersion() })
    return {
      plugins,
      filled: slot => filledFor(ownerOf(slot))(slot),
      document: http ? await documentOf(http, plugins, kernelOf) : { paths: {} },
      columns: await store.read(async em => columnsIn(em)),
      metrics: new Map(
        await Promise.all(
          plugins.map(async plugin => [plugin.name, await metricsBy(filledFor('kernel', [plugin]))] as const)
        )
      )
    }
  } finally {
    await store.close()
  }
}

async function documentOf(http: HttpHost, plugins: readonly Plugin[], kernelOf: (name: string) => Kernel) {
  try {
    for (const plugin of plugins) await http.mount(plugin, kernelOf(plugin.name))
    await http.app.ready()
    return http.document() as Document
  } finally {
    await http.close()
  }
}

async function metricsBy(filled: SlotReader): Promise<readonly Metric[] | null> {
  try {
    return (await Promise.all(filled(metricsSlot).map(({ value: collect }) => collect()))).flat()
  } catch {
    return null // it needs a running server
  }
}

function columnsIn(em: EntityManager): Column[] {
  return [...em.getMetadata().getAll().values()].flatMap(({ tableName, props }) =>
    props.flatMap(({ fieldNames, columnTypes, primary, nullable }) =>
      fieldNames.map((name, at) => ({
        table: tableName,
        name,
        type: columnTypes[at] ?? '',
        of: primary ? ('key' as const) : nullable ? ('nullable' as const) : ('value' as const)
      }))
    )
  )
}
