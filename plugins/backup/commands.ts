import { resolve } from 'node:path'
import { Type } from 'typebox'
import { ownVersion } from '../../kernel/base/version.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { writeBackup } from './file.ts'
import { restore as restoreTo } from './restore.ts'

const backup = defineCommand({
  name: 'backup',
  summary: 'Write store, certificate and key into one file, 0600; the server may run.',
  args: Type.Object({
    to: Type.String({ description: 'A file, or a directory in which one is made with the time in its name.' })
  }),
  positional: ['to'],
  needs: 'data',
  async run({ args, dataDir, keys, print }) {
    const source = { dataDir: dataDir(), keys: keys(), version: ownVersion(), now: Date.now() }
    print.data(await writeBackup(source, args.to))
  }
})

const restore = defineCommand({
  name: 'restore',
  summary: 'Make a backup the store of a data directory; its server must be stopped.',
  args: Type.Object({
    file: Type.String({ description: 'What sluice backup has written.' }),
    revocations_from: Type.Optional(
      Type.String({
        description:
          'Data directory of the store that was lost: what was revoked there since is revoked again. ' +
          'Default: what lies in the target.'
      })
    )
  }),
  positional: ['file'],
  needs: 'data',
  async run({ args, dataDir, print }) {
    const restored = await restoreTo({
      file: resolve(args.file),
      dataDir: dataDir(),
      oldDir: args.revocations_from,
      version: ownVersion(),
      now: Date.now()
    })
    const { revoked_since: revoked, warnings } = restored
    print.data(restored, [
      'data_dir',
      'made_at',
      'set_aside',
      ['revoked_again', () => (revoked === null ? 'unknown' : String(revoked.length))]
    ])
    for (const { what, names } of revoked ?? []) print.line(`${what}: ${names.join(', ')}`)
    for (const warning of warnings) print.line(warning)
    print.line('Start the server on it: agents with a bundle come back by themselves.')
  }
})

export const commands = [backup, restore]
