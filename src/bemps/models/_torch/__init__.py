"""What every torch model needs: training loop, checkpoints, dropout masks, devices."""
