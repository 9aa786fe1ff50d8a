import { Button, Group, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { ApiError } from '../../api/error.ts'
import { notify } from '../../app/notices.ts'
import { count } from '../../format.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { text } from '../../text/text.ts'
import type { Rule } from './queries.ts'

type Action = keyof typeof text.rules.done

const atOnce = 1000 // rules of one call

/** What can be done to many rules. Some may be refused: each is counted, and the first one says why. */
export function Actions({ rules, onDone }: { readonly rules: readonly Rule[]; readonly onDone: () => void }) {
  const [asks, { open, close }] = useDisclosure()
  const change = useMutation({
    mutationFn: (action: Action) =>
      changeAll(
        action,
        rules.map(({ rule_id }) => rule_id)
      ),
    onSuccess: ({ changed, refused, first }, action) => {
      notify(text.rules.outcome(text.rules.done[action], count(changed), count(refused)))
      if (first) notify(first)
      close()
      onDone()
    }
  })
  const button = (action: 'pause' | 'resume') => (
    <Button variant="default" size="xs" loading={change.isPending} onClick={() => change.mutate(action)}>
      {text.rules[action]}
    </Button>
  )
  return (
    <>
      {button('pause')}
      {button('resume')}
      <Button variant="default" size="xs" c="var(--bad)" onClick={open}>
        {text.rules.delete}
      </Button>
      <Dialog isOpen={asks} onClose={close} title={text.rules.confirmDelete(text.rules.count(rules.length))}>
        <Stack>
          <Text>{text.rules.confirmText}</Text>
          <Group justify="end">
            <Button variant="default" onClick={close} data-autofocus>
              {text.cancel}
            </Button>
            <Button color="red" loading={change.isPending} onClick={() => change.mutate('delete')}>
              {text.rules.delete}
            </Button>
          </Group>
        </Stack>
      </Dialog>
    </>
  )
}

async function changeAll(action: Action, ids: readonly string[]) {
  let changed = 0
  let refused = 0
  let first: ApiError | null = null
  for (let from = 0; from < ids.length; from += atOnce) {
    const { results } = await call('POST /v1/rules/bulk', {
      body: { ids: ids.slice(from, from + atOnce), action }
    })
    for (const { status, error } of results) {
      if (!error) changed++
      else {
        refused++
        first ??= new ApiError(error.message, { status, code: error.code })
      }
    }
  }
  return { changed, refused, first }
}
