import { PassThrough } from 'node:stream'
import t from 'tap'
import { openConfirm } from '../terminal/confirm.ts'

const terminal = (answer: string) => {
  const input = Object.assign(new PassThrough(), { isTTY: true })
  input.end(`${answer}\n`)
  return input
}

t.test('on a terminal the prompt shows the losses, and only y or yes confirms', async t => {
  let timesShown = 0
  const losses = async () => {
    timesShown++
    return ['3 rules']
  }
  for (const answer of ['y', 'yes', ' Y '])
    await openConfirm({ input: terminal(answer), isConfirmed: false })('Delete?', { losses })
  for (const answer of ['', 'n', 'yep'])
    await t.rejects(openConfirm({ input: terminal(answer), isConfirmed: false })('Delete?', { losses }), {
      errorCode: { exit: 2 },
      message: /nothing was changed/
    })
  t.equal(timesShown, 6)
})

t.test('there is no prompt with --yes or without a terminal', async t => {
  const losses = () => t.fail('nobody sees the losses') as never
  await openConfirm({ input: terminal('n'), isConfirmed: true })('Delete?', { losses })
  await openConfirm({ input: new PassThrough(), isConfirmed: false })('Delete?', { losses })
  await t.rejects(
    openConfirm({ input: new PassThrough(), isConfirmed: false })('Remove all?', {
      losses,
      unattended: 'refuse'
    }),
    { message: /not a terminal: Remove all\? Give --yes/ }
  )
})
