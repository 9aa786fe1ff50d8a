import { systemClock } from '../../kernel/base/clock.ts'
import { Type } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { pathArgument } from '../../kernel/platform/path-problem.ts'
import { ownVersion } from '../../kernel/platform/version.ts'
import { revocationSlot } from '../../kernel/store/revocation.ts'
import { beginGeneration, forgetCluster } from '../servers/exports.ts'
import { noteBackup, restoreDatabase, storeFileIn, writeBackup } from './file.ts'
import { migrateStore } from './move/migrate.ts'
import { restore as restoreTo } from './restore.ts'

const backup = defineCommand({
  name: 'backup',
  summary: 'Write store, certificate, key and operator token into one file, 0600; the server may run.',
  args: Type.Object({
    to: Type.String({ description: 'A file, or a directory for a file named after the time.' })
  }),
  positional: ['to'],
  needs: 'data',
  async run({ args, dataDir, keys, print }) {
    const source = { dataDir: dataDir(), keys: keys(), version: ownVersion(), now: systemClock.now() }
    print.data(await writeBackup(source, pathArgument('TO', args.to)))
    noteBackup(source, print)
  }
})

const restore = defineCommand({
  name: 'restore',
  summary: 'Replace the store of a data directory with a backup; its server must be stopped.',
  args: Type.Object({
    file: Type.String({ description: 'A file that sluice backup has written.' }),
    revocations_from: Type.Optional(
      Type.String({
        description:
          'Data directory of the lost store: what was revoked there since the backup is revoked again. ' +
          'Default: the target directory.'
      })
    )
  }),
  positional: ['file'],
  needs: 'data',
  reads: [revocationSlot],
  async run({ args, dataDir, keys, filled, stores, print }) {
    storeFileIn({ dataDir: dataDir(), keys: keys() }, restoreDatabase)
    const restored = await restoreTo({
      file: pathArgument('FILE', args.file),
      dataDir: dataDir(),
      oldDir: args.revocations_from,
      revocations: filled(revocationSlot).map(({ value }) => value),
      stores,
      version: ownVersion(),
      now: systemClock.now()
    })
    const { revoked_since: revoked, warnings } = restored
    print.data(restored, [
      'data_dir',
      'made_at',
      'set_aside',
      [
        'revoked_again',
        () => (revoked === null ? 'unknown' : String(revoked.flatMap(({ names }) => names).length))
      ]
    ])
    for (const { what, names } of revoked ?? []) print.note(`${what}: ${names.join(', ')}`)
    for (const warning of warnings) print.note(warning)
    print.note('Start the server: its agents reconnect by themselves.')
  }
})

const renew = defineCommand({
  name: 'store renew',
  summary: 'Begin a new generation, after pg_restore: agents take over what the store says; stop the server.',
  needs: 'data',
  reads: [revocationSlot],
  async run({ open, filled, print }) {
    const { store } = await open('backup')
    const revocations = filled(revocationSlot).map(({ value }) => value)
    await store.change(async em => {
      await beginGeneration(revocations, em)
      await forgetCluster(em)
    })
    print.note('What was revoked after the dump is valid again: check clients, users, tokens and grants.')
    print.done('the store has a new generation; start the server', { renewed: true })
  }
})

const migrate = defineCommand({
  name: 'store migrate',
  summary: 'Move the store into another, empty database, and compare it there; the server must be stopped.',
  examples: [
    'sluice store migrate --to postgres://sluice@db.example.com/sluice',
    'sluice store migrate --to sqlite: --config /etc/sluice/server.toml'
  ],
  args: Type.Object({
    to: Type.String({
      description:
        'postgres://USER@HOST/DATABASE without a password, or sqlite: for the file in the data directory (sqlite:FILE for another).'
    }),
    password_file: Type.Optional(
      Type.String({
        description:
          'File with the password for --to, for its owner only. Default: store_password and store_password_file of the ' +
          'configuration, SVC_STORE_PASSWORD, PGPASSWORD or ~/.pgpass.'
      })
    ),
    leave_behind: Type.Optional(
      Type.Array(Type.String(), {
        description: 'Plugins that are not loaded, or tables of none, that are not moved.'
      })
    )
  }),
  needs: 'data',
  async run({ args, dataDir, keys, stores, print }) {
    const { moved, next } = await migrateStore({ args, dataDir: dataDir(), keys: keys(), stores })
    print.data(moved, ['from', 'to', ['tables', ({ tables }) => String(tables.length)], 'rows'])
    for (const line of next) print.note(line)
  }
})

export const commands = [backup, restore, renew, migrate]
