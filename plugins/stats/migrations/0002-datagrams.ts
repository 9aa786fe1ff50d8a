import { Migration } from '@mikro-orm/migrations'

export class Stats0002 extends Migration {
  override up(): void {
    for (const table of ['stats_row', 'stats_total'])
      for (const name of ['datagrams_in', 'datagrams_out', 'overflows'])
        this.addSql(`alter table "${table}" add column "${name}" bigint not null default 0`)
  }
}
