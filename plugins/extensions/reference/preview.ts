// A house in which nothing is started: what the schemas of plugins are made of, and what is made of them.
import type { EntityManager } from '@mikro-orm/sql'
import { ownVersion } from '../../../kernel/base/version.ts'
import { inDependencyOrder } from '../../../kernel/dependency-order.ts'
import { type HttpHost, hostSlot } from '../../../kernel/http/host.ts'
import { type Metric, metricsSlot } from '../../../kernel/metrics.ts'
import type { Kernel, Plugin } from '../../../kernel/plugin.ts'
import { type Filled, ownerOf, type Slot, type SlotReader } from '../../../kernel/slot.ts'
import { kernelStore } from '../../../kernel/store/kernel-store.ts'
import { openStore } from '../../../kernel/store/open.ts'
import type { Document } from './document.ts'
import { openServices } from './services.ts'

export interface Column {
  readonly table: string
  readonly name: string
  readonly type: string
  readonly of: 'key' | 'nullable' | 'value'
}

export interface Preview {
  /** In the order of their needs. */
  readonly plugins: readonly Plugin[]
  filled<T>(slot: Slot<T>): readonly Filled<T>[]
  /** The one that `/v1/openapi.json` gives. */
  readonly document: Document
  readonly columns: readonly Column[]
  readonly metrics: ReadonlyMap<string, Told>
}

/** What a plugin tells of itself; null where that can be asked of a running server only. */
type Told = readonly Metric[] | null

/** Sections and keys are at their defaults; tables lie in memory; nothing listens. Rejects with what a start would refuse. */
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
          plugins.map(async plugin => [plugin.name, await toldBy(filledFor('kernel', [plugin]))] as const)
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

async function toldBy(filled: SlotReader): Promise<Told> {
  try {
    return (await Promise.all(filled(metricsSlot).map(({ value: figures }) => figures()))).flat()
  } catch {
    return null // it counts what runs: the page says so
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
