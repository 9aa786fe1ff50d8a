import { PassThrough } from 'node:stream'
import t from 'tap'
import { openConfirm } from '../terminal/confirm.ts'

const terminal = (answer: string) => {
  const input = Object.assign(new PassThrough(), { isTTY: true })
  input.end(`${answer}\n`)
  return input
}

t.test('at a terminal the losses are shown, and only y or yes confirms', async t => {
  let wasShown = 0
  const losses = async () => {
    wasShown++
    return ['3 rules']
  }
  for (const answer of ['y', 'yes', ' Y '])
    await openConfirm({ input: terminal(answer), isSure: false })('Delete?', { losses })
  for (const answer of ['', 'n', 'yep'])
    await t.rejects(openConfirm({ input: terminal(answer), isSure: false })('Delete?', { losses }), {
      errorCode: { exit: 2 },
      message: /nothing was changed/
    })
  t.equal(wasShown, 6)
})

t.test('with --yes or without a terminal there is no question', async t => {
  const losses = () => t.fail('shown to nobody') as never
  await openConfirm({ input: terminal('n'), isSure: true })('Delete?', { losses })
  await openConfirm({ input: new PassThrough(), isSure: false })('Delete?', { losses })
  await t.rejects(
    openConfirm({ input: new PassThrough(), isSure: false })('Remove all?', { losses, unattended: 'refuse' }),
    { message: /not a terminal: Remove all\? Give --yes/ }
  )
})
