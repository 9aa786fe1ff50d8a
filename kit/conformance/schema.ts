// Compares the tables that the migrations of a plugin have made with its entities.
import { DatabaseSchema, SchemaComparator, type TableDifference } from '@mikro-orm/sql'
import type { Server } from '../../kernel/kernel.ts'
import type { Plugin } from '../../kernel/plugin.ts'

/** Returns the differences, each as a problem. */
export async function schemaProblems(server: Server, { name, store }: Plugin): Promise<string[]> {
  if (!store) return []
  const own = new Set(store.entities.map(({ meta }) => meta.tableName))
  return server.depsOf(name).store.read(async em => {
    const driver = em.getDriver()
    const platform = driver.getPlatform()
    const wanted = platform.getSchemaGenerator(driver, em).getTargetSchema()
    const present = await DatabaseSchema.create(driver.getConnection(), platform, em.config)
    const { newTables, changedTables } = new SchemaComparator(platform).compare(present, wanted)
    const missing = Object.values(newTables).map(table => ({
      table: table.name,
      text: 'no migration creates it'
    }))
    const changed = Object.values(changedTables).flatMap(difference =>
      differencesIn(difference).map(text => ({ table: difference.name, text }))
    )
    return [...missing, ...changed]
      .filter(({ table }) => own.has(table))
      .map(({ table, text }) => `migrations and entities differ in the table ${table}: ${text}`)
  })
}

function differencesIn(table: TableDifference): string[] {
  const columns = Object.values(table.changedColumns).flatMap(({ column, fromColumn, changedProperties }) =>
    [...changedProperties].map(
      property =>
        `${property} of the column ${column.name} is ${Reflect.get(column, property)} in the entity, and ` +
        `${Reflect.get(fromColumn, property)} in the table${remedyFor(property)}`
    )
  )
  const kinds = ['Columns', 'Indexes', 'Checks', 'ForeignKeys'] as const
  const others = kinds.flatMap(kind => {
    const what = kind.replace('ForeignKeys', 'foreign keys').toLowerCase()
    const lists = [
      [`the table lacks ${what} of the entity`, table[`added${kind}`]],
      [`the entity lacks ${what} of the table`, table[`removed${kind}`]],
      [`other ${what} in the entity than in the table`, kind === 'Columns' ? {} : table[`changed${kind}`]]
    ] as const
    return lists.flatMap(([text, found]) => {
      const names = Object.keys(found)
      return names.length > 0 ? [`${text}: ${names.join(', ')}`] : []
    })
  })
  const renamed = [table.renamedColumns, table.renamedIndexes].flatMap(found =>
    Object.entries(found).map(
      ([old, { name }]) => `the entity has ${name || 'another name'}, and the table ${old}`
    )
  )
  return [...columns, ...renamed, ...others]
}

const remedyFor = (property: string): string =>
  property === 'autoincrement'
    ? '; an integer primary key counts by itself, unless it has `.autoincrement(false)`'
    : ''
