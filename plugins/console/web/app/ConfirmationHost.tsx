import { lazy, Suspense } from 'react'
import { useConfirmation } from '../api/confirmation.ts'

const Confirmation = lazy(() => import('./forms/Confirmation.tsx'))

/** Shows the dialog while a request waits for it. */
export const ConfirmationHost = () => <Suspense>{useConfirmation() && <Confirmation />}</Suspense>
