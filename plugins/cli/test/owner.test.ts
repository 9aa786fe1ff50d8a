import { chownSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { keepOwner } from '../server/keep-owner.ts'

const skip = process.getuid?.() === 0 ? false : 'only root can change owners'
const nobody = 65534

t.test(
  "files that root creates in a service's directory get its owner; existing files and files of others do not",
  { skip },
  async t => {
    const dir = t.testdir({ 'of-root': '', old: { 'of-root': '' } })
    const uidOf = (name: string): number => statSync(join(dir, name)).uid

    const restoreOwner = keepOwner(dir)
    mkdirSync(join(dir, 'new'))
    for (const name of ['made', 'new/made', 'of-another']) writeFileSync(join(dir, name), '')
    chownSync(join(dir, 'of-another'), 1, 1)
    restoreOwner()
    t.equal(uidOf('made'), 0, "root's own directory stays as it is")
    chownSync(dir, nobody, nobody)
    restoreOwner()

    for (const name of ['made', 'new', 'new/made']) t.equal(uidOf(name), nobody, name)
    for (const name of ['of-root', 'old', 'old/of-root']) t.equal(uidOf(name), 0, name)
    t.equal(uidOf('of-another'), 1)
    keepOwner(join(dir, 'none'))()
  }
)
