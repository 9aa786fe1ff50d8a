import { Migration } from '@mikro-orm/migrations'

interface Row {
  readonly id: string
  readonly placed_by: string
  readonly targets: string
  readonly prefer_ipv6: number | boolean
  readonly fields: string
  readonly values_before: string | null
  readonly definition_before: string | null
}

/** One column has what an agent last applied; there was one for hot values, and one for definitions. */
export class Rules0004 extends Migration {
  override async up(): Promise<void> {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    const changing = (await this.execute(
      `select "id", "placed_by", "targets", "prefer_ipv6", "fields", "values_before", "definition_before" from "rules"
       where "values_before" is not null or "definition_before" is not null`
    )) as unknown as Row[]
    this.addSql('alter table "rules" add column "paused" boolean not null default false')
    this.addSql(`alter table "rules" add column "before" ${json} null`)
    this.addSql('alter table "rules" add column "moved_from" int null')
    this.addSql('alter table "rules" add column "moved_to" int null')
    this.addSql('alter table "rules" add column "existing" varchar(5) null')
    this.addSql(`alter table "rules" add column "former_ports" ${json} null`)
    for (const row of changing) {
      const before = JSON.stringify(beforeOf(row)).replaceAll("'", "''")
      this.addSql(`update "rules" set "before" = '${before}', "existing" = 'keep' where "id" = '${row.id}'`)
    }
    this.addSql('alter table "rules" drop column "values_before"')
    this.addSql('alter table "rules" drop column "definition_before"')
  }
}

function beforeOf(row: Row) {
  const hot: object = JSON.parse(row.values_before ?? 'null') ?? {}
  const definition = JSON.parse(row.definition_before ?? 'null')
  if (definition === null) {
    const { placed_by: placedBy, prefer_ipv6 } = row
    const rule = {
      placedBy,
      targets: JSON.parse(row.targets),
      preferIpv6: Boolean(prefer_ipv6),
      paused: false
    }
    return { rule, values: hot, whenPortInUse: 'keep' }
  }
  const { placedBy, targets, preferIpv6 } = definition.rule
  const none = Object.fromEntries((JSON.parse(row.fields) as string[]).map(key => [key, null]))
  const values = { ...none, ...definition.values }
  return { rule: { placedBy, targets, preferIpv6, paused: false }, values, whenPortInUse: 'undo' }
}
