import { chownSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { restoreOwner } from '../owner.ts'

const skip = process.getuid?.() === 0 ? false : 'only root can change owners'
const nobody = 65534

t.test(
  "files that root creates in a service's directory get its owner, other files do not",
  { skip },
  async t => {
    const dir = t.testdir({ sub: {} })
    const createdByRoot = join(dir, 'sub', 'made-by-root')
    const ofOtherUser = join(dir, 'of-another')
    for (const file of [createdByRoot, ofOtherUser]) writeFileSync(file, '')
    chownSync(ofOtherUser, 1, 1)

    restoreOwner(dir)
    t.equal(statSync(createdByRoot).uid, 0, "root's own directory stays as it is")
    chownSync(dir, nobody, nobody)
    restoreOwner(dir)

    t.equal(statSync(createdByRoot).uid, nobody)
    t.equal(statSync(ofOtherUser).uid, 1)
    restoreOwner(join(dir, 'none'))
  }
)
