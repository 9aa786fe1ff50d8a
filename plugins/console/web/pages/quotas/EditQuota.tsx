import { useState } from 'react'
import { call, type Versioned } from '../../api/call.ts'
import { useVersionedEdit } from '../../api/use-versioned-edit.ts'
import { notify } from '../../app/notices.ts'
import { bytes } from '../../format.ts'
import { EditConflict } from '../../parts/form/EditConflict.tsx'
import { Form } from '../../parts/form/Form.tsx'
import { FreshRecord } from '../../parts/form/FreshRecord.tsx'
import { formErrors } from '../../parts/form/form-errors.ts'
import { SizeField } from '../../parts/form/SizeField.tsx'
import { text } from '../../text/text.ts'
import { pathOf, type Quota, readQuota } from './quota.ts'

interface Props {
  readonly quota: Quota
  readonly onDone: () => void
}

export const EditQuota = ({ quota, onDone }: Props) => (
  <FreshRecord queryKey={['quota', quota.user_id, quota.client_id]} read={() => readQuota(pathOf(quota))}>
    {opened => <Size opened={opened} onDone={onDone} />}
  </FreshRecord>
)

function Size({ opened, onDone }: { readonly opened: Versioned<Quota>; readonly onDone: () => void }) {
  const [size, setSize] = useState<number | null>(opened.value.monthly_bytes)
  const path = pathOf(opened.value)
  const { change, theirs } = useVersionedEdit<Quota, number>(opened, {
    read: () => readQuota(path),
    save: (monthly_bytes, headers) =>
      call('PATCH /v1/users/{user_id}/quotas/{client_id}', { path, body: { monthly_bytes }, headers }),
    onSaved: () => {
      notify(text.quotas.set)
      onDone()
    }
  })
  const { errorAt, generalError } = formErrors(change.error, { monthly_bytes: ['invalid_quota_size'] })
  return (
    <Form
      submitLabel={text.save}
      isBusy={change.isPending}
      error={generalError}
      onSubmit={() => change.mutate(size ?? 0)}
      onCancel={onDone}
    >
      <SizeField value={size} onChange={setSize} error={errorAt('monthly_bytes')} />
      {theirs && (
        <EditConflict
          fields={[{ name: text.quotas.size, now: bytes(theirs.monthly_bytes), yours: bytes(size ?? 0) }]}
        />
      )}
    </Form>
  )
}
